/**
 * What a model's configuration claims, held against the weights that are stored.
 *
 * <p>Each architecture has a table ({@code ModelTables}): the sizes that its options give every tensor, the tensors that its switches
 * ask for, bounds of its options, its number of layers and their kinds. The tables are data; {@link
 * dev.shardsmith.verify.claims.ConfigurationClaims} reads them all in one way. No tensor's elements are read here.
 */
package dev.shardsmith.verify.claims;
