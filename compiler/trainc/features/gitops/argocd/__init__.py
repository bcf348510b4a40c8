"""Run inside Argo CD as a config management plugin."""
