/* libcuda.so.1 of a machine without a GPU: the driver entry points that cuDNN looks up, all of which answer
 * CUDA_ERROR_NO_DEVICE. With it cuDNN compiles plans for GPUs that aren't there; nothing can be run. */
enum { kNoDevice = 100 };

/* cuDNN looks at the count alone: it must be written. */
int cuDeviceGetCount(int* count) {
  *count = 0;
  return kNoDevice;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

#define ZT_NO_DEVICE(name) \
  int name(void) { return kNoDevice; }
ZT_NO_DEVICE(cuCtxGetCurrent)
ZT_NO_DEVICE(cuCtxGetLimit)
ZT_NO_DEVICE(cuCtxPopCurrent)
ZT_NO_DEVICE(cuCtxPushCurrent)
ZT_NO_DEVICE(cuDeviceGet)
ZT_NO_DEVICE(cuGetErrorName)
ZT_NO_DEVICE(cuGetErrorString)
ZT_NO_DEVICE(cuKernelGetAttribute)
ZT_NO_DEVICE(cuKernelSetAttribute)
ZT_NO_DEVICE(cuLaunchCooperativeKernel)
ZT_NO_DEVICE(cuLaunchKernel)
ZT_NO_DEVICE(cuLaunchKernelEx)
ZT_NO_DEVICE(cuLibraryGetKernel)
ZT_NO_DEVICE(cuLibraryLoadData)
ZT_NO_DEVICE(cuLibraryLoadFromFile)
ZT_NO_DEVICE(cuLibraryUnload)
ZT_NO_DEVICE(cuLinkAddData)
ZT_NO_DEVICE(cuLinkComplete)
ZT_NO_DEVICE(cuLinkCreate)
ZT_NO_DEVICE(cuLinkDestroy)
ZT_NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
ZT_NO_DEVICE(cuStreamGetCtx)
