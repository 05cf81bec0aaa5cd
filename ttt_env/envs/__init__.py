"""Thin adapters from the rules to the interfaces of PettingZoo and Gymnasium."""
