"""The command line: one file per verb over the engine; stdout is data, stderr is narration."""
