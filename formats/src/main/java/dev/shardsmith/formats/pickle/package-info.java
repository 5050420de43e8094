/**
 * Python pickles as inert data.
 *
 * <p>A stream is read into a graph of {@link dev.shardsmith.formats.pickle.PyValue} nodes: nothing is imported, called or
 * looked up by reflection. Identity and cycles are kept, as is the order of everything. What a class or function would do is
 * known only to the rooms that interpret the nodes ({@code dev.shardsmith.formats.torch}, {@code …dcp}).
 */
package dev.shardsmith.formats.pickle;
