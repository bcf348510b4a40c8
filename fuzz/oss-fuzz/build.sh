#!/bin/bash -eu
# Builds each fuzz target with its seeds and dictionary, as OSS-Fuzz's base-builder runs it.
pip3 install '.[policy,lsp,graph]'
for path in fuzz/targets/[a-z]*.py; do
  name=$(basename "$path" .py)
  printf 'import sys\nsys.argv.insert(1, "%s")\nfrom fuzz.run import main\nmain()\n' "$name" > "fuzz_$name.py"
  compile_python_fuzzer "fuzz_$name.py" --hidden-import "fuzz.targets.$name" --collect-all trainc
  python3 -m fuzz.seeds "$WORK/seeds" "$name"
  zip -q -j "$OUT/fuzz_${name}_seed_corpus.zip" "$WORK/seeds/$name"/*
  cp fuzz/oss-fuzz/words.dict "$OUT/fuzz_$name.dict"
done
