"""The one place where the text of any reader becomes text: no byte that is not UTF-8, no half of a surrogate pair.

**Guarantee**: what becomes of a text follows from that text alone; one that is well formed stays as it is.
"""

import pyarrow as pa
import pyarrow.types as pt


def whole(text: str) -> str:
    """The text, halves of a surrogate pair joined where they meet, and written out where they stand alone.

    >>> whole("a\\ud83d\\ude00") == "a\\U0001f600", whole("b\\ud800") == "b" + chr(92) + "ud800"
    (True, True)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return joined.encode("utf-8", "backslashreplace").decode()
    return text


def strings(texts: list[str]) -> pa.Array:
    """Python's texts (n,) as an Arrow array of large strings, each well formed."""
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeError:
        return pa.array([whole(t) for t in texts], pa.large_string())


def cells(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of any type, with U+FFFD for bytes of a text that are not UTF-8; other columns as they are."""
    if not is_text(array.type):
        return array
    return pa.chunked_array([_repaired(c) for c in array.chunks], type=array.type)


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of this type are texts, listed in a dictionary or not."""
    if pt.is_dictionary(kind):
        return is_text(kind.value_type)
    return pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)


def one_text(kind: pa.DataType) -> pa.DataType:
    """The type of a column, one for all in which Arrow may hold plain texts: files of one table may differ in that.

    >>> one_text(pa.string_view()), one_text(pa.int8())
    (DataType(large_string), DataType(int8))
    """
    return pa.large_string() if is_text(kind) and not pt.is_dictionary(kind) else kind


def as_bytes(array: pa.Array) -> pa.Array:
    """A column of text seen as bytes, whose validity says nothing of characters; others as they are."""
    if not is_text(array.type):
        return array
    if pt.is_dictionary(array.type):
        array.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(array.indices, as_bytes(array.dictionary))
    return array.cast(pa.large_binary(), safe=False)


def _repaired(chunk: pa.Array) -> pa.Array:
    if pt.is_dictionary(chunk.type):
        held = _repaired(chunk.dictionary)
        return chunk if held is chunk.dictionary else pa.DictionaryArray.from_arrays(chunk.indices, held)
    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid:
        read = [None if b is None else b.decode(errors="replace") for b in as_bytes(chunk).to_pylist()]
        return pa.array(read, pa.large_string()).cast(chunk.type)
    return chunk
