#!/bin/bash
# A script in the form of the published one: two model sizes, one long quoted option text.
MODEL_SCALE="800M" # or "8B"

case "${MODEL_SCALE}" in
    "800M")
        TP=1
        LAYERS=48
        WIDTH=1024
        HEADS=16
        ;;
    "8B")
        TP=4
        LAYERS=56
        WIDTH=4096
        HEADS=32
        ;;
    *)
        echo "no such size"
        exit 1
        ;;
esac

DATA=$1
TOKENIZER=$2
export CUDA_DEVICE_MAX_CONNECTIONS=1
OUT="./checkpoints"
mkdir -p ${OUT}

LENGTH=4096
SAMPLES=$((LENGTH * 100 - 4))

options=" \
       --tensor-model-parallel-size ${TP} \
       --sequence-parallel \
       --pipeline-model-parallel-size 1 \
       --use-distributed-optimizer \
       --untie-embeddings-and-output-weights \
       --position-embedding-type none \
       --num-layers ${LAYERS} \
       --hidden-size ${WIDTH} \
       --num-attention-heads ${HEADS} \
       --group-query-attention \
       --num-query-groups 8 \
       --hybrid-attention-ratio 0.08 \
       --hybrid-mlp-ratio 0.5 \
       --seq-length ${LENGTH} \
       --max-position-embeddings ${LENGTH} \
       --train-samples ${SAMPLES} \
       --data-path ${DATA} \
       --tokenizer-type GPTSentencePieceTokenizer \
       --tokenizer-model ${TOKENIZER} \
       --save ${OUT} \
       --load ${OUT} \
       --normalization RMSNorm \
       --disable-bias-linear \
       --squared-relu \
       --adam-beta2 0.95 \
       --spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec \
       --bf16"

torchrun --nproc_per_node 8 ../../pretrain_mamba.py ${options} 2>&1 | tee log.txt
