# SPDX-License-Identifier: Apache-2.0
"""Small files of torch.save() that describe much: pickles that share values, archives of many records."""

import io
import struct
import zipfile


def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return b"X" + struct.pack("<I", len(s)) + s


def long(n):
    return b"\x8a\x08" + struct.pack("<q", n)


def put(i):
    return b"r" + struct.pack("<I", i)


def get(i):
    return b"j" + struct.pack("<I", i)


def tensor(shape=(2, 2), key=b"0", offset=0, strides=None, more=b"", elements=4):
    """A call that makes a tensor; `more` stands behind its arguments."""
    strides = strides or [2, 1][2 - len(shape) :]
    key = key if key.startswith(b"j") else text(key)
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + key + text("cpu") + long(elements) + b"tQ"
    dims = [b"(" + b"".join(map(long, d)) + b"t" for d in (shape, strides)]
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + long(offset) + b"".join(dims) + b"\x89}" + more + b"tR"


def pickled(value):
    return b"\x80\x02" + value + b"."


def archive(value, records=(), storage=bytes(16)):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        z.writestr("archive/data.pkl", pickled(value))
        z.writestr("archive/data/0", storage)
        for name, content in records:
            z.writestr(f"archive/{name}", content)
    return out.getvalue()


def old_archive(value, keys=(b"0",), storages=None):
    storages = storages if storages is not None else [struct.pack("<q", 4) + bytes(16)] * len(keys)
    head = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + pickled(b"M\xe9\x03") + pickled(b"}")
    listed = b"](" + b"".join(map(text, keys)) + b"e"
    return head + pickled(value) + pickled(listed) + b"".join(storages)


def model(*entries):
    """A dict with a weight and `entries`, each a key and a value."""
    return b"}" + text("w") + tensor() + b"s" + b"".join(text(k) + v + b"s" for k, v in entries)


def items(values):
    return b"](" + b"".join(values) + b"e"


def copied_lists(size):
    """OrderedDict(pairs), again and again of one list."""
    pairs = items([b"K\x01K\x02\x86"] * (size // 10))
    call = b"ccollections\nOrderedDict\n" + put(1) + b"0"
    calls = [get(1) + get(0) + b"\x85R"] * (size // 24)
    return archive(model(("l", pairs + put(0)), ("c", items([call[:-1], *calls]))))


def referred_lists(size):
    """A list of numbers that another one names again and again."""
    return archive(model(("l", items([b"N"] * (size // 2)) + put(0)), ("c", items([get(0)] * (size // 10)))))


def shared_metadata(size):
    """One dict behind the arguments of every tensor."""
    shared = b"}" + put(0) + b"(" + b"".join(text(str(i)) + b"K\x01" for i in range(size // 16)) + b"u"
    return archive(model(("m", shared), *((f"t{i}", tensor(more=get(0))) for i in range(size // 400))))


def shared_arguments(size):
    """One tuple of many arguments, called again and again."""
    made = tensor(more=b"N" * (size // 2))[:-1] + put(1) + b"R"
    again = b"ctorch._utils\n_rebuild_tensor_v2\n" + get(1) + b"R"
    return archive(model(("a", made), *((f"t{i}", again) for i in range(size // 120))))


def ones(opcodes):
    """Opcodes that cost a value each, within a list."""

    def make(size):
        return archive(model(("l", b"](" + opcodes * (size // len(opcodes)) + b"e")))

    return make


def nested_tuples(size):
    return archive(model(("l", b"N" + b"\x85" * size)))


def same_memo(size):
    return archive(model(("l", b"]" + b"\x94" * size)))


def far_memo(size):
    return archive(model(("l", b"](" + b"".join(b"N" + put((i * 2654435761) % 2**32) for i in range(size // 6)) + b"e")))


def doubled_lists(end):
    """A list twice in a list twice in a list ..."""

    def make(size):
        depth = min(31, size.bit_length())
        lists = items([end() * 1])
        for i in range(depth):
            lists = items([lists + put(i), *[get(i)] * (1 + size // depth // 6)])
        return archive(model(("l", lists)))

    return make


def long_keys(size):
    """One long key on the path of many tensors."""
    key = text(b"k" * 4000)
    shared = b"}" + put(0) + b"".join(text(str(i)) + (tensor() + put(1) if i == 0 else get(1)) + b"s" for i in range(size // 13))
    return archive(b"}" + key + shared + b"s")


def long_paths(size):
    """A key of a megabyte, that many empty lists have."""
    return archive(model(("x", b"}" + text(b"k" * (size // 2)) + put(0) + b"]s" + (get(0) + b"]s") * (size // 14))))


def long_storage_keys(size):
    key = text(b"0" * (size // 2)) + put(5)
    made = [tensor(key=get(5))[1:] for i in range(size // 300)]
    entries = ((f"t{i}", b"c" + t) for i, t in enumerate(made))
    return old_archive(b"}" + text("k") + key + b"s" + model(*entries)[1:], [b"0" * (size // 2)])


def shared_storage_tuples(size):
    """Persistent values of one long key, in a list that nobody reads."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text(b"1" * (size // 2)) + text("cpu") + b"K\x04t" + put(0)
    return old_archive(model(("p", items([storage + b"Q", *[get(0) + b"Q"] * (size // 12)]))))


def views(size):
    """Many tensors of one storage, each as large as the file."""
    half = size // 2 // 4
    shared = tensor((half // 2, 2), elements=half) + put(0)
    again = (text(f"t{i}") + get(0) + b"s" for i in range(size // 2 // 12))
    return archive(b"}" + text("w") + shared + b"s" + b"".join(again), storage=bytes(4 * half))


def expanded(size):
    return archive(b"}" + text("w") + tensor((size, size), strides=(0, 0)) + b"s")


def repeated_key(size):
    """The key of a model, again and again for one dict without tensors."""
    big = b"}" + put(0) + b"(" + b"K\x01N" * (size // 6) + b"u"
    again = [text("model") + get(0) + b"s"] * (size // 32)
    return archive(b"}" + text("x") + big + b"s" + b"".join(again) + text("y") + tensor() + b"s")


def records(size):
    return archive(model(), ((f"data/{i}", b"") for i in range(1, size // 120)))


def long_records(size):
    return archive(model(), ((f"data/{i:060000}", b"") for i in range(1, size // 120000)))


def tensors(size):
    return archive(model(*((f"t{i}", tensor()) for i in range(size // 300))))


def long_texts(size):
    return archive(model(*((("k" * 3000) + str(i), b"N") for i in range(size // 3100))))


def endings(size):
    """A file of the marks with which archives end."""
    return b"PK\x03\x04" + (b"PK\x05\x06" + bytes(6)) * (size // 10)


BOMBS = {
    "copied lists": copied_lists,
    "referred lists": referred_lists,
    "shared metadata": shared_metadata,
    "shared arguments": shared_arguments,
    "nothing": ones(b"N"),
    "lists": ones(b"]"),
    "remembered lists": ones(b"]\x94"),
    "tuples": ones(b"N\x85"),
    "marks": lambda size: archive(model(("l", b"(" * size))),
    "numbers": ones(b"K\x01"),
    "sets": ones(b"\x8f"),
    "nested tuples": nested_tuples,
    "one value remembered": same_memo,
    "far memo": far_memo,
    "doubled lists": doubled_lists(lambda: b"N"),
    "doubled tensors": doubled_lists(tensor),
    "long keys": long_keys,
    "long paths": long_paths,
    "long storage keys": long_storage_keys,
    "shared storage tuples": shared_storage_tuples,
    "views": views,
    "expanded": expanded,
    "repeated key": repeated_key,
    "records": records,
    "long records": long_records,
    "tensors": tensors,
    "long texts": long_texts,
    "endings": endings,
}
COMMANDS = [
    ["energy", "IN", "--list"],
    ["prune", "IN", "-o", "OUT", "--sparsity", "0.5", "--include", "*"],
    ["convert", "IN", "-o", "OUT", "--to", "csr", "--include", "*"],
]
FORMATS = {"torch": (BOMBS, COMMANDS)}
