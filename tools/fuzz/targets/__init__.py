"""One module per target: `check(data)` raises on any finding. None of them needs the fuzzer itself."""
