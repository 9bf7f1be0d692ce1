use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use opscope_tensor::{DType, Statistics};

use crate::table::csv::cell;
use crate::{Io, Stream};

/// `statistics.csv`: the columns of AscendCL's statistics between ours.
pub(super) struct Table {
    file: File,
}

const COLUMNS: &str = "Run,Op Name,Op Type,Value,Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,\
                       Avg Value,Count,Nan Count,Negative Inf Count,Positive Inf Count,L2norm,Std,Zero Count,XXH3\n";

impl Table {
    pub fn create(root: &Path) -> io::Result<Self> {
        let mut file = crate::sinks::fresh::file(&root.join("statistics.csv"))?;
        file.write_all(COLUMNS.as_bytes())?;
        Ok(Self { file })
    }

    /// Adds a tensor. As on the device, an infinite element makes maximum or minimum infinite; what a tensor does not
    /// have is `NA`.
    pub fn add(&mut self, stream: &Stream, statistics: &Statistics) -> io::Result<()> {
        let origin = &stream.origin;
        let operator = origin.operator();
        let number = |number: Option<f64>| number.map_or_else(|| "NA".into(), |number| number.to_string());
        let max = if statistics.positive_infinite > 0 { Some(f64::INFINITY) } else { statistics.max };
        let min = if statistics.negative_infinite > 0 { Some(f64::NEG_INFINITY) } else { statistics.min };
        let shape: Vec<String> = stream.shape.iter().map(usize::to_string).collect();
        let fields = [
            origin.run.map_or_else(|| "-".into(), |run| run.0.to_string()),
            cell(&operator.name),
            cell(&operator.op_type),
            cell(origin.value_name()),
            if origin.io == Io::Input { "Input".into() } else { "Output".into() },
            origin.slot.to_string(),
            stream.bytes.to_string(),
            data_type(stream.dtype),
            "ND".into(),
            if shape.is_empty() { "-".into() } else { shape.join("x") },
            number(max),
            number(min),
            number(statistics.mean),
            statistics.count.to_string(),
            statistics.nan.to_string(),
            statistics.negative_infinite.to_string(),
            statistics.positive_infinite.to_string(),
            number(statistics.l2),
            number(statistics.std),
            statistics.zeros.to_string(),
            format!("{:016x}", statistics.xxh3),
        ];
        self.file.write_all((fields.join(",") + "\n").as_bytes())
    }
}

/// `DT_FLOAT`, as the vendor's tools write types.
fn data_type(dtype: DType) -> String {
    match dtype {
        DType::F32 => "DT_FLOAT".into(),
        DType::F64 => "DT_DOUBLE".into(),
        DType::Bf16 => "DT_BF16".into(),
        other => format!("DT_{}", other.name().to_ascii_uppercase()),
    }
}
