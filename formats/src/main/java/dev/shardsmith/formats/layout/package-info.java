/**
 * What a path is: which layout its files have, told from names and small JSON files, before any tensor is looked at.
 *
 * <pre>
 * latest_checkpointed_iteration.txt   Megatron's tracker: a number or "release"; beside it iter_0000100/, release/
 * mp_rank_TT[_PPP][_EEE]/             Megatron's legacy form: tensor, pipeline and expert rank; the last two only where
 *                                     there is more than one, so a name of two numbers can mean either
 * metadata.json                       Megatron's distributed form, written last; names the form inside
 * .metadata, *.distcp                 a distributed checkpoint of PyTorch
 * config.json with d_model            mamba_ssm; ranks as rank0.pt, rank_0.pt, mp_rank_00.pt, NAME.tp0-of-4.pt
 * *.safetensors, pytorch_model*.bin   a Hugging Face folder
 * </pre>
 *
 * <p>Files of other names are left alone, and no link is followed that leads out of the checkpoint.
 */
package dev.shardsmith.formats.layout;
