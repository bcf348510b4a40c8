"""The pipeline: from input files to compiled objects, through reading, schema, runtime, patches, lowering and passes."""
