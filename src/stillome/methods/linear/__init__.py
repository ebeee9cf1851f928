"""The linear methods: one file each, with what they share."""
