"""SaLoss (Chrysostomou and Aletras 2021)."""
