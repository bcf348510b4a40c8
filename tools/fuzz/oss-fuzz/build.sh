#!/bin/bash -eu
# Builds each fuzz target with its seeds and dictionary, as OSS-Fuzz's base-builder runs it.
pip3 install '.[policy,lsp,graph]'
for path in tools/fuzz/targets/[a-z]*.py; do
  name=$(basename "$path" .py)
  printf 'import sys\nsys.argv.insert(1, "%s")\nfrom fuzz.run import main\nmain()\n' "$name" > "fuzz_$name.py"
  PYTHONPATH=tools compile_python_fuzzer "fuzz_$name.py" --hidden-import "fuzz.targets.$name" --collect-all trainc
  PYTHONPATH=tools python3 -m fuzz.seeds "$WORK/seeds" "$name"
  zip -q -j "$OUT/fuzz_${name}_seed_corpus.zip" "$WORK/seeds/$name"/*
  cp tools/fuzz/oss-fuzz/words.dict "$OUT/fuzz_$name.dict"
done
