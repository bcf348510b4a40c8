"""The diagnostic codes of this feature; rules/ has the page of each."""

CODES = {
    "migrate": {
        "error": "CannotMigrate InvalidTrainingJob",
        "warning": "LegacyLabelSelected MigrationDiffers",
        "info": "FieldNotMigrated JobRenamed MigrationChanges",
    },
}
