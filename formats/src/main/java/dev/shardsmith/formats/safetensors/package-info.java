/**
 * The safetensors format, one file or sharded with an index.
 *
 * <pre>
 * bytes 0..7      n, unsigned 64-bit little-endian: length of the header, at most 100,000,000
 * bytes 8..8+n    UTF-8 JSON: {"name": {"dtype": code, "shape": [sizes], "data_offsets": [begin, end]}, ...}, and
 *                 optionally "__metadata__": {string: string}; offsets count from byte 8+n
 * bytes 8+n..     the tensors, row-major and little-endian, without holes or overlaps
 * </pre>
 *
 * <p>A tensor of type F4 has two values per byte. Its shape in the header counts values; here, as in PyTorch, it counts
 * bytes, so the last dimension is half as large.
 *
 * <p>A sharded checkpoint is files {@code model-00001-of-00003.safetensors} and {@code model.safetensors.index.json}:
 * {@code {"metadata": {"total_size": bytes}, "weight_map": {tensor: file}}}.
 */
package dev.shardsmith.formats.safetensors;
