"""The packages of AutoCast."""

MODELOPT = "nvidia-modelopt==0.47.0"
# What AutoCast needs of the packages that it asks for: neither PyTorch nor CUDA.
AUTOCAST = f"""--no-deps {MODELOPT} nvidia-ml-py==13.615.71 numpy==2.4.6 onnx==1.21.0 onnxruntime==1.24.4 onnx_graphsurgeon==0.6.1 onnx-ir==1.1.0
    onnxconverter-common==1.16.0 onnxscript==0.7.2 onnxslim==0.1.98 polygraphy==0.53.6 protobuf==7.36.2 ml_dtypes==0.6.0 lief==1.0.0
    cppimport==26.4.17 filelock==4.3.1 flatbuffers==25.12.19 packaging==26.4 pybind11==3.1.0 Mako==1.4.3 MarkupSafe==3.0.4 pydantic==2.14.4
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5 PyYAML==6.0.4 omegaconf==2.4.0
    regex==2026.11.19 rich==15.0.0 markdown-it-py==4.3.0 mdurl==0.1.2 Pygments==2.21.0 scipy==1.17.1 sympy==1.14.0 mpmath==1.3.0
    tqdm==4.70.1 colorama==0.4.6 setuptools""".split()
