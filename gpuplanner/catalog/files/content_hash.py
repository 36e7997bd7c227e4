"""A hash over the content of files, to tell one edition of the catalog from another."""

import hashlib
from collections.abc import Mapping


def content_hash(contents: Mapping[str, bytes]) -> str:
    """A hash of files by name. Line ends do not count, since a checkout may change them."""
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        for part in (name.encode(), content.replace(b"\r\n", b"\n")):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()
