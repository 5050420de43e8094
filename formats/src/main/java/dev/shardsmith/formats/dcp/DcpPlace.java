package dev.shardsmith.formats.dcp;

import java.util.List;

/**
 * Where an item lies.
 *
 * @param file path of the data file relative to the checkpoint's folder
 * @param offset first byte of the item in the file
 * @param length bytes of the item; for items in the safetensors form those of the tensor alone
 * @param transforms names of the transforms that reading has to undo, in this order
 */
public record DcpPlace(String file, long offset, long length, List<String> transforms) {}
