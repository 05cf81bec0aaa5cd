"""The protocol of Piskvork and Gomocup, which programs for five in a row speak."""
