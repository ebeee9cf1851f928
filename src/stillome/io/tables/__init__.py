"""Tables about subjects: participants, phenotypes, and the sessions in them."""
