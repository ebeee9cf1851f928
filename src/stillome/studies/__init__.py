"""The paper, study by study; `stillome reproduce` runs them, `study.py` says how one is written."""
