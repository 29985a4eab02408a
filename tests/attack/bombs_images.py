# SPDX-License-Identifier: Apache-2.0
"""Images that describe much: pixels, scans, chunks and palettes out of proportion to their bytes."""

import json
import struct
import zlib

RECIPE = {
    "schema": 1,
    "model": {"kind": "wide-resnet", "depth": 10, "width": 1, "classes": 2},
    "data": {"kind": "images", "folder": "images", "size": 8},
    "optimizer": {"kind": "sgd", "rate": 0.05},
    "steps": 2,
    "batch": 2,
}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def deflated(n, byte=b"\0"):
    """So many equal bytes, in a thousandth of them."""
    z = zlib.compressobj(9)
    out = [z.compress(byte * min(1 << 20, n - i)) for i in range(0, n, 1 << 20)]
    return b"".join(out) + z.flush()


def png(width=8, height=8, colour=2, depth=8, before=b"", data=None, interlace=0, after=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    if data is None:
        row = 1 + (width * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth + 7) // 8
        data = deflated(row * height + (2 * row + 8 * height if interlace else 0))
    end = chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + after + end


def side(size, pixels_per_byte, most=8190):
    return max(8, min(most, int((size * pixels_per_byte) ** 0.5)))


def square(size, per_byte, **how):
    n = side(size, per_byte)
    return png(n, n, **how)


def marker(code, data=b""):
    return b"\xff" + bytes([code]) + struct.pack(">H", len(data) + 2) + data


def jpeg(width, height, components=1, scans=1, progressive=True, sampling=0x11, per_scan=b"", dc=True):
    """Grey all over: a DC scan of a bit for each block, then scans that say for all of them: nothing."""
    parts = b"".join(bytes([i + 1, sampling if i == 0 else 0x11, 0]) for i in range(components))
    frame = struct.pack(">BHHB", 8, height, width, components) + parts
    h, v = (sampling >> 4, sampling & 15) if components > 1 else (1, 1)
    blocks = -(-width // (8 * h)) * -(-height // (8 * v)) * (h * v + components - 1)
    listed = b"".join(bytes([i + 1, 0]) for i in range(components))
    # One code of one bit each: 0 for a difference of 0, and for a run of 2^14 blocks and what 14 bits say.
    tables = marker(0xC4, b"\x00" + b"\x01" + bytes(15) + b"\x00")
    tables += marker(0xC4, b"\x10" + b"\x01" + bytes(15) + (b"\xe0" if progressive else b"\x00"))
    out = [b"\xff\xd8", marker(0xDB, b"\0" + b"\1" * 64), marker(0xC2 if progressive else 0xC0, frame), tables]
    if not progressive:
        return b"".join(out) + marker(0xDA, bytes([components]) + listed + b"\0\x3f\0") + bytes(-(-2 * blocks // 8)) + b"\xff\xd9"
    if dc:
        out.append(marker(0xDA, bytes([components]) + listed + b"\0\0\0") + bytes(-(-blocks // 8)))
    mine = -(-width // 8) * -(-height // 8)
    runs = -(-mine // 32767)
    bits = ("0" + "1" * 14) * runs
    bits += "1" * (-len(bits) % 8)
    empty = b"".join(b"\xff\0" if b == 255 else bytes([b]) for b in int(bits, 2).to_bytes(len(bits) // 8, "big"))
    out += [per_scan + marker(0xDA, b"\1\1\0\x01\x3f\0") + empty] * scans
    return b"".join(out) + b"\xff\xd9"


def images(content, count=2, name="in.png"):
    files = {"recipe.json": json.dumps(RECIPE).encode()}
    for i in range(count):
        files[f"images/{'ab'[i % 2]}/{i}{name}"] = content
    return files


def scans(most, per_pixel=500, **how):
    def make(size):
        # Half of the bytes for the pixels, half for the scans.
        n = side(size // 4, per_pixel)
        each = 12 + 2 * -(-((n + 7) // 8) ** 2 // 32767)
        return images(jpeg(n, n, scans=min(most, max(1, size // 4 // each)), **how), name="in.jpg")

    return make


def texts(size):
    """Texts of 8 MB, 8 kB each."""
    return images(png(before=chunk(b"zTXt", b"k\0\0" + deflated(7_900_000)) * (size // 16000)))


def profile(size):
    return images(png(before=chunk(b"iCCP", b"k\0\0" + deflated(min(size * 500, 400 << 20)))))


def palette(size):
    n = side(size // 2, 1000)
    return images(png(n, n, colour=3, depth=8, before=chunk(b"PLTE", bytes(768)) + chunk(b"tRNS", bytes(256))))


IMAGES = {
    "scans": scans(900),
    "thousands of scans": scans(5000, 1),
    "scans of colour": scans(900, 150, components=3),
    "scans of halved colour": scans(900, 250, components=3, sampling=0x22),
    "scans and tables": scans(900, per_scan=marker(0xC4, b"\x10\x01" + bytes(15) + b"\xe0")),
    "scans without a first": scans(900, dc=False),
    "large grey": lambda size: images(jpeg(n := side(size // 2, 250), n, progressive=False), name="in.jpg"),
    "large colour": lambda size: images(jpeg(n := side(size // 2, 80), n, components=3, progressive=False), name="in.jpg"),
    "large progressive": lambda size: images(jpeg(n := side(size // 2, 80), n, components=3), name="in.jpg"),
    "wide": lambda size: images(jpeg(65500, max(1, min(1000, size // 270)), progressive=False), name="in.jpg"),
    "many large": lambda size: images(jpeg(n := side(size // 16, 250), n, progressive=False), 16, name="in.jpg"),
    "empty scans": lambda size: images(jpeg(65500, 65500)[:200], name="in.jpg"),
    "comments": lambda size: images(jpeg(8, 8)[:2] + marker(0xFE, bytes(60000)) * (size // 120000) + jpeg(8, 8)[2:], name="in.jpg"),
    "grey": lambda size: images(square(size // 2, 1000, colour=0)),
    "colour": lambda size: images(square(size // 2, 300)),
    "16 bits with alpha": lambda size: images(square(size // 2, 120, colour=6, depth=16)),
    "one bit": lambda size: images(square(size // 2, 8000, colour=0, depth=1)),
    "interlaced": lambda size: images(square(size // 2, 300, interlace=1)),
    "wide rows": lambda size: images(png(1_000_000, max(1, min(60, size // 6000)))),
    "high": lambda size: images(png(1, min(1_000_000, size * 100))),
    "palette": palette,
    "texts": texts,
    "profile": profile,
    "data behind the image": lambda size: images(png(data=deflated(min(size * 500, 400 << 20)))),
    "empty chunks": lambda size: images(png(before=chunk(b"tEXt", b"k\0") * (size // 28))),
    "empty data": lambda size: images(png(after=chunk(b"IDAT", b"") * (size // 24))),
    "many images": lambda size: images(png(), size // 100),
    "claims": lambda size: images(png(2**31 - 1, 2**31 - 1, data=bytes(size // 2))),
}
FORMATS = {"images": (IMAGES, [["train", "recipe.json", "--dry-run", "--out", "OUT"]])}
