"""Analyses: experiments without training, one file each."""
