#!/usr/bin/env bash
# Serves a checkpoint with a real vLLM on 127.0.0.1.
#   serve.sh VLLM_HOME MODEL_DIR MODEL_NAME PORT [more vllm arguments]
# Ready when GET /health answers 200: 45 to 90 seconds on two cores, 4.5 GB of memory.
# Ends with the process that started it, however that one ended.
set -euo pipefail
home=$1 model=$2 name=$3 port=$4
shift 4
export PATH="$home/bin:$PATH"
export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1} VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=2
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
exec setpriv --pdeathsig TERM vllm serve "$model" --host 127.0.0.1 --port "$port" --served-model-name "$name" \
  --dtype float32 --max-num-seqs 4 --enforce-eager \
  --enable-prefix-caching --enable-prompt-tokens-details \
  --enable-auto-tool-choice --tool-call-parser hermes "$@"
