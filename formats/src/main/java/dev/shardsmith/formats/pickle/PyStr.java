package dev.shardsmith.formats.pickle;

/** A Python string; lone surrogates are kept as Java's. */
public record PyStr(String value) implements PyValue {}
