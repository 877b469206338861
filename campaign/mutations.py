"""Small random changes of bytes."""

TOKENS = (
    *(
        b"nan",
        b"inf",
        b"-inf",
        b"1e999",
        b"-1e-999",
        b"0x10",
        b"1_000",
        b"+",
        b"-",
        b"1.",
        b".5",
        b"1e",
        b"--1",
        b"1d5",
    ),
    *(b"qid:3", b"0:1", b"1:1", b"2147483648:1", b"99999999999999999999:1", b"-1:1", b"1:1:1", b":", b"#", b"\x00"),
    *(
        b"\r",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"\t",
        b" ",
        b"\x0b",
        b"\x0c",
        b"\x1c",
        b"\x85",
        b"\xc2\xa0",
        b"\xff",
        b"\xe2\x80\xa8",
    ),
    *(
        b",",
        b",,",
        b'"',
        b'""',
        b"'",
        b"\xef\xbb\xbf",
        b"\xd9\xa3",
        b"\xef\xbc\x91",
        b"True",
        b"None",
        b"1j",
        b"(1)",
        b"1 2",
    ),
)


def mutated(rng, content):
    """One to four small changes."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(content) + 1))
        match int(rng.integers(6)):
            case 0 if content:
                content[place % len(content)] ^= 1 << int(rng.integers(8))
            case 1:
                content[place:place] = TOKENS[int(rng.integers(len(TOKENS)))]
            case 2:
                del content[place : place + int(rng.integers(1, 6))]
            case 3:
                del content[place:]
            case 4 if content:
                other = int(rng.integers(len(content)))
                content[place:place] = content[other : other + int(rng.integers(1, 12))]
            case _ if content:
                content[place % len(content)] = int(rng.integers(256))
    return bytes(content)


class DefectError(Exception):
    """A reader's defect."""
