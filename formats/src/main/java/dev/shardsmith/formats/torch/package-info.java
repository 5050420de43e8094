/**
 * Files of {@code torch.save}: reading, and laying out new ones.
 *
 * <p><b>Archive</b> (since 1.6): a zip file whose entries are all stored, in one folder.
 *
 * <pre>
 * folder/data.pkl          the object; storages are persistent ids ("storage", class, key, location, elements)
 * folder/byteorder         "little" or "big"; little where it is missing
 * folder/data/KEY          the bytes of storage KEY, elements · size of one
 * folder/version           "3\n"
 * folder/.data/…           not needed
 * </pre>
 *
 * Each record's data begins at a multiple of 64 bytes from the start of the archive: the local header has an extra field
 * {@code FB}, 16-bit length, {@code Z…}. Sizes and CRC are in the central directory and in a descriptor behind the data;
 * in the local header they are 0.
 *
 * <p><b>Stream</b> (before 1.6): pickles back to back: magic number, protocol version 1001, system information, object, list
 * of storage keys; then for each key a 64-bit little-endian number of elements and the elements, little-endian.
 *
 * <p>May use {@code formats} and {@code formats.pickle}.
 */
package dev.shardsmith.formats.torch;
