// Element types of CUDA's libraries that the project uses, for builds without a CUDA toolkit.
#pragma once

typedef enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 } cudaDataType;
