"""The scikit-learn front."""
