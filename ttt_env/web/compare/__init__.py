"""The page that compares agents: ladder, certificates, temperatures, trainings."""
