"""Running an instance: ``mail`` and its ``notices``, ``sweeps``, ``diagnosis`` for ``docshare doctor``, ``secrets``."""
