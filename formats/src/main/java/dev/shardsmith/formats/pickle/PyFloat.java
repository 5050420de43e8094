package dev.shardsmith.formats.pickle;

/** A Python float; NaN payloads are kept. */
public record PyFloat(double value) implements PyValue {}
