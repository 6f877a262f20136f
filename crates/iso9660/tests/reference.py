"""Layout 1 a second time, written from docs/reference/format-image.md alone.

Reads lines from stdin: `volume ID`, `set TEXT`, `time SECONDS`, then `head|body SIZE CONTENT PATH` (CONTENT is `-` for
none). Writes the metadata of the image to the file named on the command line, with zeros for data.
"""

import sys
import time
from struct import pack

SECTOR, SECTION = 2048, 0xFFFFF800
up = lambda value, unit: -(-value // unit) * unit
both16 = lambda n: pack("<H", n) + pack(">H", n)
both32 = lambda n: pack("<I", n) + pack(">I", n)
ucs2 = lambda text: text.encode("utf-16-be")


def texts(text, length, joliet):
    if not joliet:
        return text.encode().ljust(length)
    return (ucs2(text) + b"\0 " * length)[: length // 2 * 2].ljust(length, b"\0")


class Directory:
    def __init__(self, name, parent):
        self.name, self.parent, self.children = name, parent or self, {}
        self.lba, self.size, self.number, self.records = [0, 0], [0, 0], [0, 0], [None, None]

    def subdirectories(self):
        return sum(isinstance(child, Directory) for child in self.children.values())


class File:
    def __init__(self, line):
        size, content, self.path = line.split(" ", 2)
        self.size, self.content = int(size), content
        self.name = self.path.split("/")[-1]
        self.lba, self.links, self.serial = None, 1, None


def d_characters(text):
    return "".join(c.upper() if c.isascii() and c.isalnum() else "_" for c in text)


def stem(child):
    base, extension = child.name, ""
    if isinstance(child, File) and "." in base:
        base, extension = base.rsplit(".", 1)
    extension = extension[:8]
    base = base[: 30 - len(extension)]
    return d_characters(base) + ("." + d_characters(extension) if extension else "")


def stems(directory):
    by_name = sorted(directory.children.items())
    own = {name: stem(child) for name, child in by_name}
    counts = {}
    for value in own.values():
        counts[value] = counts.get(value, 0) + 1
    taken = {value for value, count in counts.items() if count == 1}
    number = 0
    for name, _ in by_name:
        if counts[own[name]] > 1:
            while f"X{number:07}" in taken:
                number += 1
            own[name] = f"X{number:07}"
            number += 1
    return own


def entries(directory, joliet):
    """(identifier, child) in the order of records."""
    if joliet:
        return [(ucs2(name), child) for name, child in sorted(directory.children.items())]
    own = stems(directory)
    found = []
    for name, value in sorted(own.items(), key=lambda item: item[1]):
        child = directory.children[name]
        suffix = "" if isinstance(child, Directory) else ("" if "." in value else ".") + ";1"
        found.append(((value + suffix).encode(), child))
    return found


class Image:
    def __init__(self, lines):
        self.head, self.body = [], []
        for line in lines:
            word, rest = line.rstrip("\n").split(" ", 1)
            if word in ("head", "body"):
                getattr(self, word).append(File(rest))
            else:
                setattr(self, word, rest)
        moment = time.gmtime(int(self.time))
        self.short = bytes([moment.tm_year - 1900, *moment[1:6], 0])
        self.long = time.strftime("%Y%m%d%H%M%S00", moment).encode() + b"\0"
        self.root = Directory("", None)
        for file in self.head + self.body:
            place = self.root
            for name in file.path.split("/")[:-1]:
                place = place.children.setdefault(name, Directory(name, place))
            place.children[file.name] = file
        self.order = [self.breadth_first(0), self.breadth_first(1)]
        self.share()

    def breadth_first(self, tree):
        order = [self.root]
        for directory in order:
            directory.number[tree] = order.index(directory) + 1
            directory.records[tree] = entries(directory, tree)
            order += [child for _, child in directory.records[tree] if isinstance(child, Directory)]
        return order

    def share(self):
        """Leaders, links and serial numbers."""
        first, self.leaders = {}, []
        for file in self.head + self.body:
            key = id(file) if file.size == 0 or file.content == "-" else file.content
            if key not in first:
                first[key] = file
                file.serial = len(self.order[0]) + 1 + len(first) - 1
            else:
                first[key].links += 1
            file.leader = first[key]

    def system_use(self, child, name=None, root=False):
        if isinstance(child, Directory):
            mode, links, serial = 0o40555, 2 + child.subdirectories(), child.number[0]
        else:
            mode, links, serial = 0o100444, child.leader.links, child.leader.serial
        use = b"SP\x07\x01\xbe\xef\x00" if root else b""
        use += b"PX\x2c\x01" + b"".join(map(both32, [mode, links, 0, 0, serial]))
        if name is not None:
            use += b"NM" + bytes([5 + len(name), 1, 0]) + name.encode()
        use += b"TF\x1a\x01\x0e" + self.short * 3
        if root:
            use += b"CE\x1c\x01" + both32(self.continuation) + both32(0) + both32(len(self.er()))
        return use

    def er(self):
        parts = [
            b"IEEE_P1282",
            b"THE IEEE P1282 PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS",
            b"PLEASE CONTACT THE IEEE STANDARDS DEPARTMENT, PISCATAWAY, NJ, USA FOR THE P1282 SPECIFICATION",
        ]
        body = b"\x01" + bytes(map(len, parts)) + b"\x01" + b"".join(parts)
        return b"ER" + bytes([len(body) + 3]) + body

    def record(self, lba, size, flags, identifier, use=b""):
        body = both32(lba) + both32(size) + self.short + bytes([flags, 0, 0]) + both16(1)
        body += bytes([len(identifier)]) + identifier + b"\0" * (1 - len(identifier) % 2) + use
        body += b"\0" * (len(body) % 2)
        return bytes([len(body) + 2, 0]) + body

    def records(self, directory, tree):
        primary = tree == 0
        for other, identifier in ((directory, b"\0"), (directory.parent, b"\1")):
            root = identifier == b"\0" and directory is self.root
            use = self.system_use(other, root=root) if primary else b""
            yield self.record(other.lba[tree], other.size[tree], 2, identifier, use)
        for identifier, child in directory.records[tree]:
            use = self.system_use(child, child.name) if primary else b""
            if isinstance(child, Directory):
                yield self.record(child.lba[tree], child.size[tree], 2, identifier, use)
                continue
            lba, left = child.leader.lba or self.zero_block, child.size
            while left > SECTION:
                yield self.record(lba, SECTION, 0x80, identifier, use)
                lba, left = lba + SECTION // SECTOR, left - SECTION
            yield self.record(lba, left, 0, identifier, use)

    def directory(self, directory, tree):
        data = b""
        for record in self.records(directory, tree):
            if len(data) % SECTOR + len(record) > SECTOR:
                data = data.ljust(up(len(data), SECTOR), b"\0")
            data += record
        return data.ljust(up(len(data), SECTOR), b"\0")

    def path_table(self, tree, order):
        table = b""
        names = {self.root: b"\0"}
        for directory in self.order[tree]:
            names.update((child, identifier) for identifier, child in directory.records[tree] if isinstance(child, Directory))
        for directory in self.order[tree]:
            name = names[directory]
            table += bytes([len(name), 0]) + pack(order + "IH", directory.lba[tree], directory.parent.number[tree])
            table += name + b"\0" * (len(name) % 2)
        return table

    def place_contents(self, files, lba, align):
        for file in files:
            if file.leader is file and file.size:
                if align and file.size >= 4096:
                    lba = up(lba, 2)
                file.lba = lba
                lba += up(file.size, SECTOR) // SECTOR
        return lba

    def lay_out(self):
        self.continuation = self.zero_block = 0
        lba = self.place_contents(self.head, 32, False)
        self.tables = []
        for tree in (0, 1):
            for order in "<>":
                self.tables.append(lba)
                lba += up(len(self.path_table(tree, order)), SECTOR) // SECTOR
        for tree in (0, 1):
            for directory in self.order[tree]:
                directory.size[tree] = len(self.directory(directory, tree))
                directory.lba[tree] = lba
                lba += directory.size[tree] // SECTOR
            if tree == 0:
                self.continuation, lba = lba, lba + 1
        self.zero_block = lba
        lba = self.place_contents(self.body, lba + 1, True)
        self.size = up(lba * SECTOR + 1048576, 32768)

    def descriptor(self, tree):
        sectors, space = self.size // SECTOR, lambda n: texts("", n, tree)
        table = self.path_table(tree, "<")
        d = bytes([1 + tree]) + b"CD001\x01\0" + space(32) + texts(self.volume[:16] if tree else self.volume, 32, tree)
        d += bytes(8) + both32(sectors) + (b"%/E" if tree else b"").ljust(32, b"\0")
        d += both16(1) + both16(1) + both16(2048) + both32(len(table))
        d += pack("<I", self.tables[2 * tree]) + bytes(4) + pack(">I", self.tables[2 * tree + 1]) + bytes(4)
        d += self.record(self.root.lba[tree], self.root.size[tree], 2, b"\0")
        d += texts(self.set, 128, tree) + space(128) * 3 + space(37) * 3
        d += self.long * 2 + (b"0" * 16 + b"\0") * 2 + b"\1\0" + b" " * 512
        return d

    def write(self, out):
        self.lay_out()
        out.truncate(self.size)

        def put(lba, data):
            out.seek(lba * SECTOR)
            out.write(data)

        put(16, self.descriptor(0))
        put(17, self.descriptor(1))
        put(18, b"\xffCD001\x01")
        for index, lba in enumerate(self.tables):
            put(lba, self.path_table(index // 2, "<>"[index % 2]))
        for tree in (0, 1):
            for directory in self.order[tree]:
                put(directory.lba[tree], self.directory(directory, tree))
        put(self.continuation, self.er())


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as out:
        Image(sys.stdin).write(out)
