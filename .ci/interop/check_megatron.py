#!/usr/bin/env python3
"""Loads converted torch_dist checkpoints with Megatron-core's own dist_checkpointing into its own models.

Usage: check_megatron.py FOLDER

FOLDER holds Megatron-LM's source in megatron/, and CASE/expected.json and CASE/SOURCE-TARGET/, made by check_megatron.sh.
Each checkpoint is loaded into the real HybridModel, one process a rank: with the sizes that it was written for, and with the
largest that expected.json has files of. The load is strict, so that keys and shapes have to be exactly those that the model asks for. Every parameter
and extra state must then equal what Megatron-LM wrote into that rank's own file. Exits with 1 if anything differs.

Only parameters matter, nothing is computed: Triton, Transformer Engine and mamba_ssm are stood in for.
"""

import contextlib
import functools
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import json
import logging
import os
import pathlib
import re
import sys
import tempfile
import traceback
import types
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
import torch.multiprocessing as processes

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


class Anything:
    """Stands in for whatever a module that is not installed would have; as a decorator it changes nothing."""

    def __init__(self, *args, **options):
        pass

    def __call__(self, *args, **options):
        return args[0] if len(args) == 1 and callable(args[0]) and not options else self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, index):
        return self

    def __or__(self, other):
        return self


class StandIn(types.ModuleType):
    __path__ = []
    __version__ = "3.0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return GatedNorm if name == "RMSNorm" else Anything()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("triton", "mamba_ssm") or name == "torch.utils.cpp_extension":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class GatedNorm(torch.nn.Module):
    """The parameters of mamba_ssm's gated normalisation."""

    def __init__(self, hidden_size, eps=1e-5, device=None, dtype=None, **options):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))


class NoTracker:
    def fork(self, *args, **options):
        return contextlib.nullcontext()


def model_builder():
    """A function from dimensions and parallel sizes to the model of this process."""
    from megatron.core import parallel_state
    from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add
    from megatron.core.models.gpt.moe_module_specs import get_moe_module_spec
    from megatron.core.models.hybrid import hybrid_block
    from megatron.core.models.hybrid.hybrid_model import HybridModel
    from megatron.core.ssm import mamba_mixer
    from megatron.core.ssm.mamba_layer import MambaLayer, MambaLayerSubmodules
    from megatron.core.ssm.mlp_layer import MLPLayer
    from megatron.core.tensor_parallel.layers import ColumnParallelLinear, RowParallelLinear
    from megatron.core.transformer import attention, transformer_layer
    from megatron.core.transformer.dot_product_attention import DotProductAttention
    from megatron.core.transformer.enums import AttnMaskType
    from megatron.core.transformer.identity_op import IdentityOp
    from megatron.core.transformer.mlp import MLP, MLPSubmodules
    from megatron.core.transformer.module import convert_module_to_dtype_except_fp32_marked
    from megatron.core.transformer.spec_utils import ModuleSpec
    from megatron.core.transformer.transformer_config import TransformerConfig
    from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint

    torch.cuda.current_device = lambda: torch.device("cpu")
    mamba_mixer.get_cuda_rng_tracker = lambda *args, **options: NoTracker()

    class Norm(torch.nn.RMSNorm):
        def __init__(self, config=None, hidden_size=None, eps=1e-5, **options):
            super().__init__(hidden_size, eps=eps, dtype=config.params_dtype)
            self.returns_residual = False

    class FusedNormLinear(ColumnParallelLinear):
        """The parameters and the extra state of Transformer Engine's linear layer with a norm before it."""

        def __init__(self, input_size, output_size, *args, config=None, **options):
            super().__init__(input_size, output_size, *args, config=config, **options)
            self.layer_norm_weight = torch.nn.Parameter(torch.ones(input_size, dtype=config.params_dtype))
            self.extra = torch.empty(0, dtype=torch.uint8)

        def get_extra_state(self):
            return self.extra

        def set_extra_state(self, state):
            self.extra = state

        def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
            return make_sharded_tensors_for_checkpoint(
                self.state_dict(prefix="", keep_vars=True), prefix, {"weight": 0, "bias": 0}, sharded_offsets,
                tp_group=self.tp_group, dp_cp_group=metadata["dp_cp_group"])

    def stack(experts):
        layers = transformer_layer.TransformerLayerSubmodules
        optional = {}
        if experts:
            moe = get_moe_module_spec(use_te=False, num_experts=experts, moe_grouped_gemm=False)
            optional["moe_layer"] = ModuleSpec(
                transformer_layer.MoETransformerLayer,
                submodules=layers(pre_mlp_layernorm=Norm, mlp=moe, mlp_bda=get_bias_dropout_add))
        mamba = MambaLayerSubmodules(
            norm=IdentityOp,
            mixer=ModuleSpec(
                mamba_mixer.MambaMixer,
                submodules=mamba_mixer.MambaMixerSubmodules(in_proj=FusedNormLinear, out_proj=RowParallelLinear)),
            mamba_bda=get_bias_dropout_add)
        heads = attention.SelfAttentionSubmodules(
            linear_qkv=FusedNormLinear, core_attention=DotProductAttention, linear_proj=RowParallelLinear)
        mlp = MLPSubmodules(linear_fc1=FusedNormLinear, linear_fc2=RowParallelLinear)
        return ModuleSpec(hybrid_block.HybridStack, submodules=hybrid_block.HybridStackSubmodules(
            mamba_layer=ModuleSpec(MambaLayer, submodules=mamba),
            attention_layer=ModuleSpec(transformer_layer.TransformerLayer, submodules=layers(
                self_attention=ModuleSpec(
                    attention.SelfAttention, params={"attn_mask_type": AttnMaskType.causal}, submodules=heads),
                self_attn_bda=get_bias_dropout_add)),
            mlp_layer=ModuleSpec(MLPLayer, submodules=layers(
                mlp=functools.partial(MLP.as_mlp_submodule, submodules=mlp), mlp_bda=get_bias_dropout_add)),
            **optional))

    hybrid_block.TENorm = Norm

    def build(dims, tp, pp):
        whole = {key: int(value) for key, value in dims.items() if value.isdigit()}
        dtype = getattr(torch, dims["dtype"].split(".")[1])
        experts = whole.get("experts")
        config = TransformerConfig(
            num_layers=len(dims["pattern"]), hidden_size=whole["hidden"], num_attention_heads=whole["heads"],
            num_query_groups=whole["groups"], kv_channels=whole["kv"], ffn_hidden_size=whole["ffn"],
            mamba_state_dim=whole["d_state"], mamba_head_dim=whole["head_dim"], mamba_num_groups=whole["n_groups"],
            num_moe_experts=experts, moe_ffn_hidden_size=whole.get("moe_ffn"), moe_router_topk=2,
            moe_shared_expert_intermediate_size=whole.get("shared_ffn"), gated_linear_unit="swiglu" in dims,
            tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp, is_hybrid_model=True,
            use_cpu_initialization=True, params_dtype=dtype, bf16=dtype == torch.bfloat16, pipeline_dtype=dtype,
            normalization="RMSNorm", add_bias_linear=False, persist_layer_norm=False, masked_softmax_fusion=False)
        model = HybridModel(
            config=config, hybrid_stack_spec=stack(experts), vocab_size=whole["vocab"], max_sequence_length=32,
            hybrid_layer_pattern=dims["pattern"], pre_process=parallel_state.is_pipeline_first_stage(),
            post_process=parallel_state.is_pipeline_last_stage(),
            share_embeddings_and_output_weights="tied" in dims, position_embedding_type="none")
        if "float16_module" in dims:
            model = convert_module_to_dtype_except_fp32_marked(model, torch.bfloat16)
        return model

    return build


def digest(tensor):
    flat = tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1)
    return hashlib.sha256(flat.view(torch.uint8).numpy().tobytes()).hexdigest()


def differences(found, keys, wanted):
    """What differs between a model's state dict and what the rank's own file has."""
    if set(found) != set(keys):
        yield "keys: %s" % sorted(set(found) ^ set(keys))
    for name, tensor in found.items():
        want = wanted.get(name)
        if isinstance(tensor, torch.Tensor) and isinstance(want, dict) and "sha256" in want:
            facts = {"dtype": str(tensor.dtype), "shape": list(tensor.shape), "sha256": digest(tensor)}
            for fact, value in facts.items():
                if value != want[fact]:
                    yield "%s: %s is %s, expected %s" % (name, fact, value, want[fact])


def load(build, checkpoint, dims, tp, pp, saved):
    """Loads this process's part of a checkpoint; the model and the common state."""
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.dist_checkpointing.mapping import ShardedObject
    from megatron.core.dist_checkpointing.validation import StrictHandling

    model = build(dims, tp, pp)
    content = dist_checkpointing.load_content_metadata(str(checkpoint)) or {}
    asked = {"model": model.sharded_state_dict(
        metadata={**content, "dp_cp_group": parallel_state.get_data_parallel_group(with_context_parallel=True)})}
    if saved == (tp, pp):  # the random generators are kept for the sizes that the checkpoint was written for
        place = (parallel_state.get_pipeline_model_parallel_rank(), parallel_state.get_tensor_model_parallel_rank())
        asked["rng_state"] = ShardedObject("rng_state", None, (pp, tp), place, replica_id=0)
    state, missing, unexpected = dist_checkpointing.load(
        asked, str(checkpoint), strict=StrictHandling.RETURN_ALL)
    other = sorted(key for key in missing if not (key.startswith("rng_state") and saved != (tp, pp)))
    if other or unexpected:
        raise ValueError("the model does not ask for %s, the checkpoint does not have %s" % (other, unexpected))
    model.load_state_dict(state["model"], strict=True)
    return model, state


def rank(number, tp, pp, start, checkpoint, case, saved, expected, failures):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + start, rank=number, world_size=tp * pp)
    try:
        from megatron.core import parallel_state
        from megatron.core.safe_globals import register_safe_globals

        register_safe_globals()
        parallel_state.initialize_model_parallel(tp, pp)
        if (checkpoint / "common.pt").exists():
            problems = list(older(checkpoint, expected))
            return
        model, state = load(model_builder(), checkpoint, expected["dims"], tp, pp, saved)
        t, p = number % tp, number // tp
        folder = "mp_rank_%02d" % t + ("_%03d" % p if pp > 1 else "")
        own = "tp%dpp%d/%s/%s/model_optim_rng.pt" % (tp, pp, checkpoint.name, folder)
        wanted = expected["checkpoints"][own]
        problems = list(differences(model.state_dict_for_save_checkpoint(), wanted["key_order"], wanted["model"]))
        args = state["args"]
        if (args.tensor_model_parallel_size, args.pipeline_model_parallel_size) != saved:
            problems.append("the saved options have other sizes")
        if state["iteration"] != wanted["rest"]["iteration"]:
            problems.append("the iteration is %s" % state["iteration"])
        if args.hidden_size != wanted["rest"]["args"]["hidden_size"]:
            problems.append("the hidden size is %s" % args.hidden_size)
        if saved == (tp, pp) and not isinstance(state["rng_state"][0]["torch_rng_state"], torch.Tensor):
            problems.append("there is no state of the random generators")
    except Exception:
        problems = [traceback.format_exc()[-1500:]]
    finally:
        for problem in problems:
            print("%s into tp%dpp%d, rank %d: %s" % (case, tp, pp, number, problem), flush=True)
        failures[number] = len(problems)
        dist.barrier()
        dist.destroy_process_group()


def older(checkpoint, expected):
    """Checks a checkpoint of older key names, with common.pt, which the present models do not ask for: all of it, undivided."""
    from megatron.core import dist_checkpointing

    plain = dist_checkpointing.load_plain_tensors(str(checkpoint))
    found = {key: value for key, value in plain.items() if isinstance(value, torch.Tensor)}
    for key in [key for key in found if key.endswith(".x")]:
        parts = [key[:-1] + part for part in ("z", "x", "B", "C", "dt") if key[:-1] + part in found]
        found[key[:-2]] = torch.cat([found.pop(part) for part in parts])
    own = next(name for name in expected["checkpoints"] if name.startswith("tp1pp1/"))
    wanted = expected["checkpoints"][own]
    keys = [key for key in wanted["key_order"] if not key.endswith("_extra_state")]
    yield from differences(found, keys, wanted["model"])
    state = dist_checkpointing.load_common_state_dict(str(checkpoint))
    if state["iteration"] != wanted["rest"]["iteration"]:
        yield "the iteration is %s" % state["iteration"]
    if state["args"].hidden_size != wanted["rest"]["args"]["hidden_size"]:
        yield "the hidden size is %s" % state["args"].hidden_size


def sizes(text):
    return tuple(int(number) for number in re.fullmatch(r"tp(\d+)pp(\d+)", text).groups())


def main():
    root = pathlib.Path(sys.argv[1])
    if not (root / "megatron").is_dir():
        print("skipped: SHARDSMITH_MEGATRON does not name the source of Megatron-LM")
        return 0
    sys.path.insert(0, str(root))
    sys.meta_path.insert(0, StandIns())
    if not hasattr(torch, "float8_e8m0fnu"):
        torch.float8_e8m0fnu = torch.uint8
    load = torch.distributed.checkpoint.load
    if "no_dist" not in inspect.signature(load).parameters:  # PyTorch before 2.7: all processes read together instead
        torch.distributed.checkpoint.load = lambda *args, no_dist=False, **options: load(*args, **options)
    model_builder()  # imports once, before the processes fork

    context = processes.get_context("fork")
    loads = bad = 0
    for expected_file in sorted(root.glob("*/expected.json")):
        expected = json.loads(expected_file.read_text())
        layouts = sorted({name.split("/")[0] for name in expected["checkpoints"]})
        for checkpoint in sorted(expected_file.parent.glob("*/iter_*")):
            saved = sizes(checkpoint.parent.name.split("-")[1])
            case = "%s/%s" % (expected_file.parent.name, checkpoint.parent.name)
            largest = (1, 1) if (checkpoint / "common.pt").exists() else max(map(sizes, layouts))
            for tp, pp in sorted({saved if largest != (1, 1) else largest, largest}):
                with tempfile.TemporaryDirectory() as folder:
                    failures = context.Array("i", [1] * (tp * pp))
                    start = os.path.join(folder, "start")
                    ranks = [
                        context.Process(target=rank, args=(
                            number, tp, pp, start, checkpoint, case, saved, expected, failures))
                        for number in range(tp * pp)]
                    for process in ranks:
                        process.start()
                    for process in ranks:
                        process.join()
                    loads += 1
                    bad += any(failures)
    print("Megatron-core loaded %d times, %d bad" % (loads, bad))
    return 1 if bad or not loads else 0


if __name__ == "__main__":
    sys.exit(main())
