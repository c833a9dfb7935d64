# Every version that the set-up pins, in one place. Sourced by the scripts of this folder.
# shellcheck shell=bash disable=SC2034

# What installs the wheels. Only pip asks an index; the wheels' bytes are checked against the table.
PIP_VERSION=26.3
PYTHON_SERIES=3.11  # Debian 12's; the wheels below are built for it

# Wheels unpacked side by side in .deps/site, without their own dependencies:
# name, version, file, size in bytes, SHA-256.
WHEELS=(
  "torch 2.11.0 torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl 530604548 7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a"
  "pyarrow 26.0.1 pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl 55016622 39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c"
  # libtorch_cpu.so needs libcudart.so.13 and libcupti.so.13, also where there is no GPU.
  "nvidia-cuda-runtime 13.0.96 nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl 2243632 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
  "nvidia-cuda-cupti 13.0.85 nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl 10715597 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"
)

# Files whose presence says that .deps/site is whole.
SITE_FILES=(
  torch/lib/libtorch_cpu.so torch/include/ATen/core/Tensor.h
  pyarrow/libarrow.so.2600 pyarrow/include/arrow/api.h
  nvidia/cu13/lib/libcudart.so.13 nvidia/cu13/lib/libcupti.so.13
)

# The reference that `make parity` compares with: tools/reference/requirements.txt and these.
REFERENCE_EXTRA=("tensorboard==2.21.0")

# The formatter: two versions of clang-format never agree about everything.
CLANG_FORMAT=clang-format-19
CLANG_FORMAT_MAJOR=19
