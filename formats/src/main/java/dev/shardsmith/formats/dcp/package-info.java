/**
 * PyTorch distributed checkpoints (DCP), Megatron's {@code torch_dist} among them.
 *
 * <pre>
 * .metadata          a pickle of torch.distributed.checkpoint.metadata.Metadata, written last:
 *                      state_dict_metadata  name -> TensorStorageMetadata(properties, size, chunks) or BytesStorageMetadata
 *                      planner_data         name -> path in the nested state dict; None in Megatron's
 *                      storage_data         MetadataIndex(name, offset) -> _StorageInfo(relative_path, offset, length)
 * __r.metadata       the same for one rank alone, where ranks saved without talking to each other
 * __r_n.distcp       items one after the other; an item is a whole torch.save archive of one bare tensor or one object,
 *                    or, in files of the safetensors form, a tensor of the safetensors data that begins at its offset
 * metadata.json      Megatron's: names the form, written after everything else
 * integrity.json     Megatron's, since 2026: the SHA-256 of each file beside it
 * common.pt          Megatron's, up to core 0.18: arguments and other state; later the object common_state/shard_0_1
 * </pre>
 *
 * <p>Files without {@code .metadata} but safetensors with {@code DCP_SHARDING_INFO} are PyTorch's Hugging Face form.
 */
package dev.shardsmith.formats.dcp;
