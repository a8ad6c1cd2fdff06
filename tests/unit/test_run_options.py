"""The typed keywords of `run` are the fields of a request, no more and no fewer."""

from synth.pipeline.request import RunOptions, RunRequest

OWN = {"version", "table", "schema_file", "epsilon", "delta"}  # named by `run` itself, or not a caller's to say


def test_every_field_of_a_request_is_a_typed_keyword() -> None:
    assert RunOptions.__annotations__.keys() == RunRequest.model_fields.keys() - OWN
