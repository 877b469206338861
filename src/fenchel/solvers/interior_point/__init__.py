"""Primal-dual interior point method for joint multiclass hinges."""
