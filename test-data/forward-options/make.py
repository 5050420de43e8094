"""Writes one JSON file a case: a layer with unusual options, its input, and what it adds to the residual stream.

Plain PyTorch in double precision, written from the formulas; weights are float32 numbers. Run with any PyTorch 2:

    python3 make.py FOLDER
"""
import json
import math
import sys

import torch

torch.set_default_dtype(torch.float64)
LENGTH, WIDTH = 7, 12


class Weights(dict):
    """Random float32 tensors by name, kept in double."""

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def add(self, name, *shape, scale=None, mean=0.0):
        size = scale if scale is not None else shape[-1] ** -0.5
        values = torch.randn(*shape, generator=self.generator) * size + mean
        self[name] = values.float().double()
        return self[name]


def rms(x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def norm(kind, x, weight, bias, eps, plus):
    if kind == "LayerNorm":
        x = (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps)
    else:
        x = rms(x, eps)
    y = x * (weight + plus)
    return y if bias is None else y + bias


def silu(x):
    return x * torch.sigmoid(x)


def add_norm(w, name, args, size=WIDTH):
    around = 0.0 if args.get("apply_layernorm_1p") else 1.0
    w.add(name + "weight", size, scale=0.2, mean=around)
    if args["normalization"] == "LayerNorm":
        w.add(name + "bias", size, scale=0.2)


def run_norm(w, name, args, x):
    return norm(args["normalization"], x, w[name + "weight"], w.get(name + "bias"), args["layernorm_epsilon"],
                1.0 if args.get("apply_layernorm_1p") else 0.0)


def rotate(x, rotated, base, interleaved):
    """x is [length, heads, channels]."""
    y = x.clone()
    for t in range(x.shape[0]):
        for i in range(rotated // 2):
            angle = t * base ** (-2 * i / rotated)
            a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + rotated // 2)
            y[t, :, a] = x[t, :, a] * math.cos(angle) - x[t, :, b] * math.sin(angle)
            y[t, :, b] = x[t, :, b] * math.cos(angle) + x[t, :, a] * math.sin(angle)
    return y


def attend(q, k, v, scale, causal=True):
    """Each [length, heads, channels]; query head h reads key head h // (heads / key heads)."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    scores = torch.einsum("thc,shc->hts", q, k) * scale
    if causal:
        scores = scores.masked_fill(torch.ones(q.shape[0], q.shape[0]).triu(1).bool(), -math.inf)
    return torch.einsum("hts,shc->thc", scores.softmax(-1), v).flatten(1)


def megatron_attention(w, u, args, channels):
    heads, groups = args["num_attention_heads"], args["num_query_groups"]
    gated = args.get("attention_output_gate", False)
    x = run_norm(w, "self_attention.linear_qkv.layer_norm_", args, u)
    mixed = x @ w["self_attention.linear_qkv.weight"].T
    if "self_attention.linear_qkv.bias" in w:
        mixed = mixed + w["self_attention.linear_qkv.bias"]
    per = heads // groups
    mixed = mixed.view(LENGTH, groups, -1, channels)
    q = mixed[:, :, :per].reshape(LENGTH, heads, channels)
    gate = mixed[:, :, per:2 * per].reshape(LENGTH, -1)
    k, v = mixed[:, :, -2], mixed[:, :, -1]
    if "self_attention.q_layernorm.weight" in w:
        q = run_norm(w, "self_attention.q_layernorm.", args, q)
        k = run_norm(w, "self_attention.k_layernorm.", args, k)
    if args["position_embedding_type"] == "rope":
        rotated = int(channels * args.get("rotary_percent", 1.0))
        turn = (rotated, args.get("rotary_base", 10000), args.get("rotary_interleaved", False))
        q, k = rotate(q, *turn), rotate(k, *turn)
    out = attend(q, k, v, args.get("softmax_scale", channels ** -0.5))
    if gated:
        out = out * torch.sigmoid(gate)
    out = out @ w["self_attention.linear_proj.weight"].T
    return out + w["self_attention.linear_proj.bias"] if "self_attention.linear_proj.bias" in w else out


def attention_case(seed, channels=6, head_norms=False, qkv_bias=False, bias=False, **options):
    args = {"num_attention_heads": 4, "num_query_groups": 2, "group_query_attention": True, "layernorm_epsilon": 1e-5,
            "normalization": "RMSNorm", "position_embedding_type": "rope", **options}
    w = Weights(seed)
    add_norm(w, "self_attention.linear_qkv.layer_norm_", args)
    rows = (4 * (2 if options.get("attention_output_gate") else 1) + 2 * 2) * channels
    w.add("self_attention.linear_qkv.weight", rows, WIDTH)
    if qkv_bias or bias:
        w.add("self_attention.linear_qkv.bias", rows, scale=0.3)
    if head_norms:
        add_norm(w, "self_attention.q_layernorm.", args, channels)
        add_norm(w, "self_attention.k_layernorm.", args, channels)
    w.add("self_attention.linear_proj.weight", WIDTH, 4 * channels)
    if bias:
        w.add("self_attention.linear_proj.bias", WIDTH, scale=0.3)
    u = w_input(seed)
    return "megatron", args, [dict(w)], u, megatron_attention(w, u, args, channels)


def w_input(seed):
    return torch.randn(LENGTH, WIDTH, generator=torch.Generator().manual_seed(1000 + seed)).float().double()


def activation(args, x, gated):
    if gated:
        gate, up = x.chunk(2, -1)
        return silu(gate) * up
    if args.get("squared_relu"):
        return torch.relu(x).pow(2)
    if args.get("bias_gelu_fusion") and args.get("add_bias_linear"):
        return x * 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))
    return torch.nn.functional.gelu(x)


def add_mlp(w, name, args, hidden=10):
    w.add(name + "linear_fc1.weight", hidden * (2 if args.get("swiglu") else 1), WIDTH)
    w.add(name + "linear_fc2.weight", WIDTH, hidden)
    if args.get("add_bias_linear"):
        w.add(name + "linear_fc1.bias", hidden * (2 if args.get("swiglu") else 1), scale=0.3)
        w.add(name + "linear_fc2.bias", WIDTH, scale=0.3)


def mlp(w, name, args, x):
    hidden = x @ w[name + "linear_fc1.weight"].T + w.get(name + "linear_fc1.bias", 0)
    return activation(args, hidden, args.get("swiglu")) @ w[name + "linear_fc2.weight"].T + w.get(
        name + "linear_fc2.bias", 0)


def mlp_case(seed, **options):
    args = {"layernorm_epsilon": 1e-5, "normalization": "LayerNorm", "swiglu": False, **options}
    w = Weights(seed)
    add_norm(w, "mlp.linear_fc1.layer_norm_", args)
    add_mlp(w, "mlp.", args)
    u = w_input(seed)
    return "megatron", args, [dict(w)], u, mlp(w, "mlp.", args, run_norm(w, "mlp.linear_fc1.layer_norm_", args, u))


def route(logits, args, bias):
    """Weights of [experts] for one token."""
    top, groups, group_top = args["moe_router_topk"], args.get("moe_router_num_groups"), args.get("moe_router_group_topk")
    function, pre = args.get("moe_router_score_function", "softmax"), args.get("moe_router_pre_softmax", False)
    if function == "sigmoid":
        scores = torch.sigmoid(logits)
    else:
        scores = logits.softmax(-1) if pre else logits
    choice = scores if bias is None else scores + bias
    if group_top:
        split = choice.view(groups, -1)
        sums = split.topk(top // group_top, -1)[0].sum(-1)
        allowed = set(sums.topk(group_top)[1].tolist())
        keep = torch.tensor([g in allowed for g in range(groups)]).repeat_interleave(split.shape[1])
        choice = choice.masked_fill(~keep, -math.inf)
    chosen = choice.topk(top)[1]
    if function == "sigmoid":
        weights = scores[chosen]
        weights = weights / (weights.sum() + 1e-20) if top > 1 else weights
    else:
        weights = scores[chosen] if pre else logits[chosen].softmax(-1)
    result = torch.zeros_like(logits)
    result[chosen] = weights * args.get("moe_router_topk_scaling_factor", 1.0)
    return result


def moe_case(seed, experts=8, bias=False, shared=False, shared_gate=False, **options):
    args = {"layernorm_epsilon": 1e-5, "normalization": "RMSNorm", "swiglu": True, **options}
    w = Weights(seed)
    add_norm(w, "pre_mlp_layernorm.", args)
    w.add("mlp.router.weight", experts, WIDTH, scale=1.0)
    if bias:
        w.add("mlp.router.expert_bias", experts, scale=0.3)
    for e in range(experts):
        add_mlp(w, f"mlp.experts.local_experts.{e}.", args)
    if shared:
        add_mlp(w, "mlp.shared_experts.", args)
    if shared_gate:
        w.add("mlp.shared_experts.gate_weight", 1, WIDTH)
    u = w_input(seed)
    x = run_norm(w, "pre_mlp_layernorm.", args, u)
    logits = x @ w["mlp.router.weight"].T
    out = torch.zeros(LENGTH, WIDTH)
    for t in range(LENGTH):
        weights = route(logits[t], args, w.get("mlp.router.expert_bias"))
        for e in range(experts):
            if weights[e] != 0:
                out[t] += weights[e] * mlp(w, f"mlp.experts.local_experts.{e}.", args, x[t])
    if shared:
        always = mlp(w, "mlp.shared_experts.", args, x)
        if shared_gate:
            always = always * torch.sigmoid(x @ w["mlp.shared_experts.gate_weight"].T)
        out = out + always
    return "megatron", args, [dict(w)], u, out


def mamba2(w, u, heads, head_dim, groups, state, *, bypass=0, before=False, limit=(0.0, math.inf), norm_groups=None):
    inner, columns = heads * head_dim, groups * state
    projected = u @ w["in_proj.weight"].T + w.get("in_proj.bias", 0)
    z0, x0, z, mixed, dt = projected.split([bypass, bypass, inner, inner + 2 * columns, heads], -1)
    kernel = w["conv1d.weight"].shape[-1]
    padded = torch.cat([torch.zeros(kernel - 1, mixed.shape[1]), mixed])
    convolved = torch.stack([(padded[t:t + kernel] * w["conv1d.weight"][:, 0].T).sum(0) for t in range(LENGTH)])
    convolved = silu(convolved + w.get("conv1d.bias", 0))
    x, b, c = convolved.split([inner, columns, columns], -1)
    x = x.view(LENGTH, heads, head_dim)
    b, c = b.view(LENGTH, groups, state), c.view(LENGTH, groups, state)
    step = torch.log1p(torch.exp(dt + w["dt_bias"])).clamp(*limit)
    decay = torch.exp(-step * torch.exp(w["A_log"]))
    y = torch.zeros(LENGTH, heads, head_dim)
    for h in range(heads):
        g = h // (heads // groups)
        skip = w["D"].view(heads, -1)[h]
        carried = torch.zeros(head_dim, state)
        for t in range(LENGTH):
            carried = decay[t, h] * carried + step[t, h] * torch.outer(x[t, h], b[t, g])
            y[t, h] = carried @ c[t, g] + skip * x[t, h]
    y = y.reshape(LENGTH, inner)
    if "norm.weight" in w:
        size = inner // (norm_groups or groups)
        together = lambda v: rms(v.view(LENGTH, -1, size), 1e-5).reshape(LENGTH, inner) * w["norm.weight"]
        y = together(y) * silu(z) if before else together(y * silu(z))
    else:
        y = y * silu(z)
    if bypass:
        y = torch.cat([silu(z0) * x0, y], -1)
    return y @ w["out_proj.weight"].T + w.get("out_proj.bias", 0)


def mamba2_case(seed, heads=4, head_dim=4, groups=2, state=6, bypass=0, kernel=4, d_per_channel=False, gated_norm=True,
                bias=False, conv_bias=True, ranks=1, layer_norm=False, **options):
    config = {"d_model": WIDTH, "ssm_cfg": {"layer": "Mamba2", "headdim": head_dim, "d_state": state,
                                            "ngroups": groups, **options}}
    w = Weights(seed)
    inner, columns = heads * head_dim, groups * state
    rows = [bypass, bypass, inner, inner, columns, columns, heads]
    w.add("in_proj.weight", sum(rows), WIDTH)
    w.add("conv1d.weight", inner + 2 * columns, 1, kernel, scale=0.4)
    w.add("dt_bias", heads, scale=0.7, mean=-2.0)
    w.add("A_log", heads, scale=0.7, mean=1.5)
    w.add("D", inner if d_per_channel else heads, scale=0.3, mean=1.0)
    w.add("out_proj.weight", WIDTH, bypass + inner)
    if gated_norm:
        w.add("norm.weight", inner, scale=0.2, mean=1.0)
    if bias:
        w.add("in_proj.bias", sum(rows), scale=0.3)
        w.add("out_proj.bias", WIDTH, scale=0.3)
    if conv_bias:
        w.add("conv1d.bias", inner + 2 * columns, scale=0.3)
    front = Weights(seed + 500)
    front.add("norm.weight", WIDTH, scale=0.2, mean=1.0)
    if layer_norm:
        front.add("norm.bias", WIDTH, scale=0.2)
    u = w_input(seed)
    x = norm("LayerNorm" if layer_norm else "RMSNorm", u, front["norm.weight"], front.get("norm.bias"), 1e-5, 0.0)
    limit = options.get("dt_limit", (0.0, math.inf))
    out = mamba2(w, x, heads, head_dim, groups, state, bypass=bypass, before=options.get("norm_before_gate", False),
                 limit=limit)
    shards = []
    for rank in range(ranks):
        shard = {"norm." + k.split(".")[1]: v for k, v in front.items()}
        for name, value in w.items():
            shard["mixer." + name] = mamba2_shard(name, value, rank, ranks, rows, [inner, columns, columns], bypass)
        shards.append(shard)
    return "mamba_ssm", config, shards, u, out


def mamba2_shard(name, value, rank, ranks, rows, channels, bypass):
    def share(parts, dim=0):
        return torch.cat([part.chunk(ranks, dim)[rank] for part in value.split(parts, dim) if part.shape[dim]], dim)

    if name in ("in_proj.weight", "in_proj.bias"):
        return share(rows)
    if name in ("conv1d.weight", "conv1d.bias"):
        return share(channels)
    if name == "out_proj.weight":
        return share([bypass, value.shape[1] - bypass], 1)
    return value if name == "out_proj.bias" else value.chunk(ranks, 0)[rank]


def mha_case(seed, heads=4, key_heads=2, head_dim=6, kernel=0, mlp_dim=0, **options):
    config = {"d_model": WIDTH, "ssm_cfg": {}, "attn_cfg": {
        "num_heads": heads, "num_heads_kv": key_heads, "head_dim": head_dim, "d_conv": kernel, "mlp_dim": mlp_dim,
        **options}}
    w = Weights(seed)
    rows = (heads + 2 * key_heads) * head_dim
    half = mlp_dim // 2
    w.add("in_proj.weight", rows + 2 * half, WIDTH)
    w.add("in_proj.bias", rows + 2 * half, scale=0.3)
    if kernel:
        w.add("conv1d.weight", rows, 1, kernel, scale=0.5)
        w.add("conv1d.bias", rows, scale=0.3)
    w.add("out_proj.weight", WIDTH, heads * head_dim + half)
    w.add("out_proj.bias", WIDTH, scale=0.3)
    front = Weights(seed + 500)
    front.add("norm.weight", WIDTH, scale=0.2, mean=1.0)
    u = w_input(seed)
    projected = rms(u, 1e-5) * front["norm.weight"] @ w["in_proj.weight"].T + w["in_proj.bias"]
    qkv, up, gate = projected.split([rows, half, half], -1)
    if kernel:
        padded = torch.cat([torch.zeros(kernel - 1, rows), qkv])
        qkv = torch.stack([(padded[t:t + kernel] * w["conv1d.weight"][:, 0].T).sum(0) for t in range(LENGTH)])
        qkv = qkv + w["conv1d.bias"]
    q, k, v = qkv.view(LENGTH, -1, head_dim).split([heads, key_heads, key_heads], 1)
    rotated = options.get("rotary_emb_dim", 0)
    if rotated:
        turn = (rotated, options.get("rotary_emb_base", 10000.0), options.get("rotary_emb_interleaved", False))
        q, k = rotate(q, *turn), rotate(k, *turn)
    out = attend(q, k, v, options.get("softmax_scale", head_dim ** -0.5), options.get("causal", False))
    out = torch.cat([out, up * silu(gate)], -1) @ w["out_proj.weight"].T + w["out_proj.bias"]
    shard = {"norm." + k.split(".")[1]: value for k, value in front.items()}
    shard.update({"mixer." + name: value for name, value in w.items()})
    return "mamba_ssm", config, [shard], u, out


def gated_delta(w, u, args, value_heads, value_dim):
    key_dim, key_heads = args["linear_key_head_dim"], args["linear_num_key_heads"]
    keys, values = key_heads * key_dim, value_heads * value_dim
    x = run_norm(w, "self_attention.in_proj.layer_norm_", args, u)
    projected = x @ w["self_attention.in_proj.weight"].T
    mixed, z, beta, alpha = projected.split([2 * keys + values, values, value_heads, value_heads], -1)
    taps = w["self_attention.conv1d.weight"]
    kernel = taps.shape[-1]
    padded = torch.cat([torch.zeros(kernel - 1, mixed.shape[1]), mixed])
    mixed = silu(torch.stack([(padded[t:t + kernel] * taps[:, 0].T).sum(0) for t in range(LENGTH)]))
    q, k, v = mixed.split([keys, keys, values], -1)
    q, k = q.view(LENGTH, key_heads, key_dim), k.view(LENGTH, key_heads, key_dim)
    q = q / torch.sqrt((q * q).sum(-1, keepdim=True) + 1e-6)
    k = k / torch.sqrt((k * k).sum(-1, keepdim=True) + 1e-6)
    v = v.view(LENGTH, value_heads, value_dim)
    decay = torch.exp(-torch.exp(w["self_attention.A_log"])
                      * torch.log1p(torch.exp(alpha + w["self_attention.dt_bias"])))
    write = torch.sigmoid(beta)
    out = torch.zeros(LENGTH, value_heads, value_dim)
    for h in range(value_heads):
        g = h // (value_heads // key_heads)
        held = torch.zeros(key_dim, value_dim)
        for t in range(LENGTH):
            held = decay[t, h] * held
            held = held + torch.outer(k[t, g], write[t, h] * (v[t, h] - k[t, g] @ held))
            out[t, h] = q[t, g] @ held * key_dim ** -0.5
    out = norm("RMSNorm", out, w["self_attention.out_norm.weight"], None, args["layernorm_epsilon"],
               1.0 if args.get("apply_layernorm_1p") else 0.0)
    return (out.reshape(LENGTH, values) * silu(z)) @ w["self_attention.out_proj.weight"].T


def gated_delta_case(seed, value_heads=4, value_dim=6, ranks=1, **options):
    args = {"layernorm_epsilon": 1e-6, "normalization": "RMSNorm", "linear_key_head_dim": 5, "linear_num_key_heads": 2,
            "linear_num_value_heads": value_heads, "linear_value_head_dim": value_dim, "swiglu": True, **options}
    keys, values = 10, value_heads * value_dim
    w = Weights(seed)
    add_norm(w, "self_attention.in_proj.layer_norm_", args)
    rows = [keys, keys, values, values, value_heads, value_heads]
    w.add("self_attention.in_proj.weight", sum(rows), WIDTH)
    w.add("self_attention.conv1d.weight", 2 * keys + values, 1, 4, scale=0.5)
    w.add("self_attention.dt_bias", value_heads, scale=0.5, mean=-1.0)
    w.add("self_attention.A_log", value_heads, scale=0.5, mean=0.5)
    w.add("self_attention.out_norm.weight", value_dim, scale=0.2,
          mean=0.0 if args.get("apply_layernorm_1p") else 1.0)
    w.add("self_attention.out_proj.weight", WIDTH, values)
    u = w_input(seed)
    shards = []
    for rank in range(ranks):
        shard = {}
        for name, value in w.items():
            last = name.replace("self_attention.", "")
            parts = {"in_proj.weight": rows, "conv1d.weight": [keys, keys, values]}.get(last)
            if parts:
                value = torch.cat([part.chunk(ranks)[rank] for part in value.split(parts)])
            elif last == "out_proj.weight":
                value = value.chunk(ranks, 1)[rank]
            elif last in ("dt_bias", "A_log"):
                value = value.chunk(ranks)[rank]
            shard[name] = value
        shards.append(shard)
    return "megatron", args, shards, u, gated_delta(w, u, args, value_heads, value_dim)


CASES = {
    "gated_delta_one_rank_1p": lambda: gated_delta_case(51, apply_layernorm_1p=True),
    "gated_delta_two_ranks": lambda: gated_delta_case(52, ranks=2),
    "attention_layernorm_1p_bias_rotary_half_interleaved": lambda: attention_case(
        1, normalization="LayerNorm", apply_layernorm_1p=True, bias=True, rotary_percent=0.5, rotary_interleaved=True,
        channels=8),
    "attention_head_norms_1p_scale_base": lambda: attention_case(
        2, head_norms=True, apply_layernorm_1p=True, softmax_scale=0.3, rotary_base=500),
    "attention_head_layernorms_no_position": lambda: attention_case(
        3, head_norms=True, normalization="LayerNorm", position_embedding_type="none", qkv_bias=True),
    "attention_output_gate": lambda: attention_case(4, attention_output_gate=True),
    "mlp_gelu_bias": lambda: mlp_case(11, add_bias_linear=True, bias_gelu_fusion=False),
    "mlp_gelu_fused_with_its_bias": lambda: mlp_case(12, add_bias_linear=True, bias_gelu_fusion=True),
    "mlp_gelu_no_bias": lambda: mlp_case(13, add_bias_linear=False, bias_gelu_fusion=True),
    "mlp_squared_relu": lambda: mlp_case(14, squared_relu=True, normalization="RMSNorm"),
    "mlp_swiglu_bias_1p": lambda: mlp_case(15, swiglu=True, add_bias_linear=True, apply_layernorm_1p=True),
    "moe_softmax_after_the_choice": lambda: moe_case(21, moe_router_topk=3),
    "moe_softmax_before_the_choice": lambda: moe_case(22, moe_router_topk=3, moe_router_pre_softmax=True),
    "moe_sigmoid_bias_scaled_shared_gate": lambda: moe_case(
        23, bias=True, shared=True, shared_gate=True, moe_router_topk=3, moe_router_score_function="sigmoid",
        moe_router_topk_scaling_factor=2.5),
    "moe_sigmoid_one_expert": lambda: moe_case(24, moe_router_topk=1, moe_router_score_function="sigmoid"),
    "moe_groups_of_two_best": lambda: moe_case(
        25, bias=True, moe_router_topk=4, moe_router_num_groups=4, moe_router_group_topk=2,
        moe_router_score_function="sigmoid"),
    "moe_groups_of_four_best": lambda: moe_case(
        26, moe_router_topk=4, moe_router_num_groups=2, moe_router_group_topk=1, moe_router_pre_softmax=True),
    "moe_groups_of_one_best": lambda: moe_case(
        27, moe_router_topk=2, moe_router_num_groups=4, moe_router_group_topk=2),
    "mamba2_norm_before_gate": lambda: mamba2_case(31, norm_before_gate=True),
    "mamba2_no_norm_d_per_channel": lambda: mamba2_case(32, gated_norm=False, d_per_channel=True, rmsnorm=False,
                                                        D_has_hdim=True),
    "mamba2_limits_bypass_bias": lambda: mamba2_case(33, bypass=6, bias=True, dt_limit=[0.05, 0.3], d_ssm=16),
    "mamba2_wide_heads": lambda: mamba2_case(34, heads=2, head_dim=32, groups=1, conv_bias=False, kernel=3),
    "mamba2_very_wide_head": lambda: mamba2_case(35, heads=1, head_dim=256, groups=1, state=3),
    "mamba2_groups_over_two_ranks": lambda: mamba2_case(36, heads=8, groups=4, bias=True, ranks=2, bypass=4),
    "mamba2_layernorm_in_front": lambda: mamba2_case(37, layer_norm=True),
    "mha_everything": lambda: mha_case(41, kernel=3, mlp_dim=10, rotary_emb_dim=4, rotary_emb_base=100.0,
                                       rotary_emb_interleaved=True, softmax_scale=0.2, causal=True),
    "mha_both_ways_rotary_halves": lambda: mha_case(42, rotary_emb_dim=6),
}


def main(folder):
    for name, case in CASES.items():
        framework, options, ranks, u, out = case()
        tensors = [{k: {"shape": list(v.shape), "values": [float(x) for x in v.flatten()]} for k, v in rank.items()}
                   for rank in ranks]
        document = {"framework": framework, "options": options, "ranks": tensors, "length": LENGTH, "width": WIDTH,
                    "input": [float(x) for x in u.flatten()], "output": [float(x) for x in out.flatten()]}
        with open(f"{folder}/{name}.json", "w") as file:
            json.dump(document, file, separators=(",", ":"))
            file.write("\n")
        print(name, "largest", float(out.abs().max()))


main(sys.argv[1])
