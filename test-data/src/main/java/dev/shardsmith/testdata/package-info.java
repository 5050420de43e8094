/** What the tests of all rooms share: the golden files and seeded random cases. */
package dev.shardsmith.testdata;
