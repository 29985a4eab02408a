# SPDX-License-Identifier: Apache-2.0
# Small ONNX models that request huge amounts of work end within the time and memory that their size
# allows. This is one pass of scripts/attack.sh at 16 kB.
. "$(dirname "$0")/_lib.sh"
cd "$T"
command -v python3 >/dev/null || exit 77
python3 -B - "$STEN_SOURCE/tests/attack" "$STEN_BIN" <<'EOF'
import os, resource, sys

sys.path.insert(0, sys.argv[1])
import bombs_onnx

sanitized = b"__asan_init" in open(sys.argv[2] + "/sten-run", "rb").read()
bombs, commands = bombs_onnx.FORMATS["onnx"]
for name, make in bombs.items():
    for path, content in make(16 << 10).items():
        with open(path, "wb") as f:
            f.write(content)
    words = [{"IN": "in"}.get(w, w.replace("OUT", "out")) for w in commands[0]]
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.execv(f"{sys.argv[2]}/sten-{words[0]}", [f"sten-{words[0]}", *words[1:], "--force"])
    _, status, used = os.wait4(child, 0)
    said = open("said", errors="replace").read()
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 2):
        sys.exit(f"{name}: ended with {code}: {said}")
    if code and len(said.splitlines()) != 1:
        sys.exit(f"{name}: not one line: {said}")
    if used.ru_maxrss > (256 << 10) + 20 * 16 and not sanitized:
        sys.exit(f"{name}: took {used.ru_maxrss} kB")
EOF
