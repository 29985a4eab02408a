#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries of others in a build of sten on Debian, by the packages that they come from.
  scripts/third_party.py notices BUILD     their names, versions, licences and copyright files
  scripts/third_party.py copyright BUILD   copyright file of a Debian package: compiled-in code alone
  scripts/third_party.py sbom BUILD        SPDX 2.3 document (JSON)
  scripts/third_party.py files BUILD       the shared libraries, except those of glibc: SONAME PATH
  scripts/third_party.py loaded BUILD      those that libsten loads by name: SONAME PATH
Linked libraries are those that ldd lists for the programs and libraries of BUILD; loaded ones are
those whose sonames are texts of libsten and that the linker's cache has; compiled-in code has headers
in the dependencies that Ninja recorded. The CUDA runtime, which is compiled into the CUDA plug-in, is not
of Debian: it is named with its version alone. SOURCE_DATE_EPOCH is the time of the SPDX document.
"""
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

RUNTIME = re.compile(r'/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|mvec|resolv))\.so\.\d+$')
# Headers of the language and the system: their code is covered by the exceptions of their licences.
SYSTEM_HEADERS = re.compile(r'(libc6|linux-libc|libstdc\+\+-\d+|libgcc-\d+|gcc-\d+|clang-\d+)(-dev)?$')
SPDX_IDS = {'Expat': 'MIT', 'expat': 'MIT', 'Zlib': 'Zlib', 'zlib': 'Zlib', 'Apache-2.0': 'Apache-2.0',
            'BSD-3-clause': 'BSD-3-Clause', 'BSD-3-Clause': 'BSD-3-Clause', 'BSD-2-clause': 'BSD-2-Clause',
            'BSD-2-Clause': 'BSD-2-Clause', 'libpng': 'Libpng', 'CC0-1.0': 'CC0-1.0', 'NTP': 'NTP'}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def fail(text):
    sys.exit(f'third_party: {text}')


def binaries(build):
    """Programs, libsten and its plug-ins."""
    found = [p for p in sorted((build / 'bin').glob('sten*')) if re.fullmatch(r'sten(-[a-z]+)?', p.name)]
    return found + sorted((build / 'lib').glob('libsten*.so'))


def linked(path):
    """{SONAME: file} of what the dynamic linker loads with a binary."""
    found = {}
    for line in output('ldd', str(path)).splitlines():
        if m := re.match(r'\s*(\S+) => (not found|/\S+)', line):
            if m[2] == 'not found':
                fail(f'{path}: {m[1]} is not found')
            found[m[1]] = m[2]
        elif m := re.match(r'\s*(/\S+) \(', line):
            found[os.path.basename(m[1])] = m[1]
    return found


def loaded(build):
    """{SONAME: file} of what libsten loads by name."""
    libsten = build / 'lib' / 'libsten.so'
    texts = set(re.findall(rb'(?<![ -~])(lib[a-z0-9_]+\.so\.\d+)(?=\0)', libsten.read_bytes()))
    cache = dict(re.findall(r'\t(\S+) \(libc6,x86-64[^)]*\) => (\S+)', output('/sbin/ldconfig', '-p')))
    names = sorted({t.decode() for t in texts if not t.startswith(b'libsten')} - linked(libsten).keys())
    if missing := [name for name in names if name not in cache]:
        fail(f'{missing[0]}, which libsten loads, is not installed')
    return {name: cache[name] for name in names}


def shared_libraries(build, plugins=True):
    all_of = {}
    for path in binaries(build):
        if plugins or not path.name.startswith('libsten_'):
            all_of |= linked(path)
    for name, path in loaded(build).items():
        all_of |= {name: path} | linked(path)
    return {name: path for name, path in sorted(all_of.items()) if not name.startswith('libsten')}


def packages_of(files):
    """{file: package}, as dpkg knows the files: with or without /usr, by links."""
    wanted = {}
    for file in files:
        real = os.path.realpath(file)
        for form in {real, real.removeprefix('/usr')}:
            wanted[form] = file
    answer = subprocess.run(['dpkg', '-S', *wanted], capture_output=True, text=True).stdout
    found = {}
    for line in answer.splitlines():
        packages, _, path = line.partition(': ')
        if path in wanted:
            found[wanted[path]] = packages.split(',')[0].split(':')[0]
    if missing := set(files) - set(found):
        fail(f'{sorted(missing)[0]}: belongs to no Debian package')
    return found


def compiled_in(build):
    """Packages with headers that the build included."""
    deps = output('ninja', '-C', str(build), '-t', 'deps')
    headers = sorted(set(re.findall(r'^    (/usr/(?:local/)?include/\S+)$', deps, re.M)))
    if not headers:
        fail(f'{build}: Ninja has recorded no dependencies')
    return sorted({p for p in packages_of(headers).values() if not SYSTEM_HEADERS.search(p)})


@functools.cache
def about(package):
    """Source package, version and licence names of an installed package, and its copyright file."""
    source, version, arch = output('dpkg-query', '-W', '-f', '${source:Package}\n${Version}\n${Architecture}\n',
                                   package).splitlines()[:3]
    text = pathlib.Path('/usr/share/doc', package, 'copyright').read_text()
    names = {m.strip() for m in re.findall(r'^License: *(\S[^\n]*)$', text, re.M)}
    return {'package': package, 'source': source, 'version': version, 'arch': arch, 'text': text,
            'licences': sorted(names) or ['see the text below']}


def parts(build):
    """(package, relation) of everything of others; of a source package, the linked one alone."""
    libraries = sorted(set(packages_of(shared_libraries(build).values()).values()))
    sources = {about(p)['source'] for p in libraries}
    headers = [p for p in compiled_in(build) if about(p)['source'] not in sources]
    return [(p, 'linked') for p in libraries] + [(p, 'compiled in') for p in headers]


def cuda_runtime(build):
    """Version of the CUDA runtime in the CUDA plug-in of a build; None without a plug-in."""
    if not (build / 'lib' / 'libsten_cuda.so').exists():
        return None
    return re.search(r'by nvcc (\S+)', (build / 'cuda.txt').read_text())[1]


def cuda_notice(build):
    version = cuda_runtime(build)
    return [f'cudart {version} (compiled into the CUDA plug-in): EULA of the NVIDIA CUDA Toolkit'] if version else []


def notices(build):
    rows = [(about(p), relation) for p, relation in parts(build)]
    out = ['Libraries of others that the programs of sten use, with the texts of their licences.', '']
    out += [f"{a['package']} {a['version']} ({relation}): {', '.join(a['licences'])}" for a, relation in rows]
    out += cuda_notice(build)
    texts = {a['source']: a for a, _ in rows}
    for source, a in sorted(texts.items()):
        out += ['', '=' * 100, f'{source} {a["version"]}', '=' * 100, '', a['text'].rstrip()]
    return '\n'.join(out) + '\n'


def copyright_file(build):
    root = pathlib.Path(__file__).resolve().parents[1]
    out = [(root / 'LICENSE').read_text().rstrip()]
    if notice := cuda_notice(build):
        out += ['', '', *notice]
    # Templates and inline functions of all headers are in the binaries, also those of linked libraries.
    for a in {about(p)['source']: about(p) for p in compiled_in(build)}.values():
        out += ['', '', f'Code of {a["source"]} {a["version"]} is compiled into the programs:', '', a['text'].rstrip()]
    return '\n'.join(out) + '\n'


def sbom(build):
    version = re.search(r'^CMAKE_PROJECT_VERSION:\w+=(\S+)$', (build / 'CMakeCache.txt').read_text(), re.M)[1]
    time = datetime.datetime.fromtimestamp(int(os.environ.get('SOURCE_DATE_EPOCH', '0')), datetime.timezone.utc)
    packages = [{'name': 'sten', 'SPDXID': 'SPDXRef-sten', 'versionInfo': version, 'filesAnalyzed': False,
                 'downloadLocation': 'NOASSERTION', 'licenseConcluded': 'Apache-2.0',
                 'licenseDeclared': 'Apache-2.0', 'copyrightText': 'Copyright 2026 The sten authors'}]
    relations = [{'spdxElementId': 'SPDXRef-DOCUMENT', 'relationshipType': 'DESCRIBES',
                  'relatedSpdxElement': 'SPDXRef-sten'}]
    for package, relation in parts(build):
        a = about(package)
        ids = [SPDX_IDS.get(name) for name in a['licences']]
        identifier = 'SPDXRef-' + re.sub(r'[^A-Za-z0-9.-]', '-', package)
        packages.append({
            'name': package, 'SPDXID': identifier, 'versionInfo': a['version'], 'filesAnalyzed': False,
            'downloadLocation': 'NOASSERTION', 'licenseConcluded': 'NOASSERTION',
            'licenseDeclared': ' AND '.join(sorted(set(ids))) if all(ids) else 'NOASSERTION',
            'licenseComments': 'Licences in Debian\'s copyright file: ' + ', '.join(a['licences']),
            'copyrightText': 'NOASSERTION', 'sourceInfo': f'Debian source package {a["source"]}',
            'externalRefs': [{'referenceCategory': 'PACKAGE-MANAGER', 'referenceType': 'purl',
                              'referenceLocator': f'pkg:deb/debian/{package}@{a["version"].replace("+", "%2B")}'
                                                  f'?arch={a["arch"]}'}]})
        relations.append({'spdxElementId': 'SPDXRef-sten', 'relatedSpdxElement': identifier,
                          'relationshipType': 'DYNAMIC_LINK' if relation == 'linked' else 'STATIC_LINK'})
    if version_of_cuda := cuda_runtime(build):
        packages.append({'name': 'cudart', 'SPDXID': 'SPDXRef-cudart', 'versionInfo': version_of_cuda,
                         'filesAnalyzed': False, 'downloadLocation': 'NOASSERTION', 'licenseConcluded': 'NOASSERTION',
                         'licenseDeclared': 'NOASSERTION', 'licenseComments': 'EULA of the NVIDIA CUDA Toolkit',
                         'copyrightText': 'NOASSERTION'})
        relations.append({'spdxElementId': 'SPDXRef-sten', 'relatedSpdxElement': 'SPDXRef-cudart',
                          'relationshipType': 'STATIC_LINK'})
    digest = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()[:32]
    return json.dumps({
        'spdxVersion': 'SPDX-2.3', 'dataLicense': 'CC0-1.0', 'SPDXID': 'SPDXRef-DOCUMENT', 'name': f'sten-{version}',
        'documentNamespace': f'https://spdx.org/spdxdocs/sten-{version}-{digest}',
        'creationInfo': {'created': time.strftime('%Y-%m-%dT%H:%M:%SZ'), 'creators': ['Tool: sten-third_party.py']},
        'packages': packages, 'relationships': relations}, indent=1) + '\n'


def listing(libraries):
    return ''.join(f'{name} {os.path.realpath(path)}\n' for name, path in libraries.items()
                   if not RUNTIME.search('/' + name))


def files(build):
    return listing(shared_libraries(build, plugins=False))


def main(arguments):
    actions = {'notices': notices, 'copyright': copyright_file, 'sbom': sbom, 'files': files,
               'loaded': lambda build: listing(loaded(build))}
    if len(arguments) != 2 or arguments[0] not in actions:
        sys.exit('usage: scripts/third_party.py notices|copyright|sbom|files|loaded BUILD')
    build = pathlib.Path(arguments[1]).resolve()
    for file in ('CMakeCache.txt', 'build.ninja', 'lib/libsten.so'):
        if not (build / file).exists():
            fail(f'{build}: not a finished build by Ninja: {file} is missing')
    sys.stdout.write(actions[arguments[0]](build))


if __name__ == '__main__':
    main(sys.argv[1:])
