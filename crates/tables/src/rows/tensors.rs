use opscope_dump::{IndexStatistics, Io, StoredTensor};

use crate::table::{Cells, ColumnSpec, Kind, Row, column, optional};

/// A tensor of a dump, with the statistics of its elements.
pub(crate) struct Tensor<'a> {
    pub model: Option<&'a str>,
    pub tensor: &'a StoredTensor,
    /// The statistics; `None` if neither the data nor the dump provides them.
    pub statistics: Option<&'a IndexStatistics>,
}

impl Row for Tensor<'_> {
    const TABLE: &'static str = "tensors";
    const COLUMNS: &'static [ColumnSpec] = &[
        optional("model_name", Kind::Text),
        optional("run", Kind::Integer),
        optional("operator", Kind::Text),
        optional("op_type", Kind::Text),
        optional("position", Kind::Integer),
        optional("iterations", Kind::Text),
        optional("io", Kind::Text),
        optional("slot", Kind::Integer),
        optional("value", Kind::Text),
        optional("dtype", Kind::Text),
        column("shape", Kind::Text),
        column("size_bytes", Kind::Integer),
        optional("min", Kind::Number),
        optional("max", Kind::Number),
        optional("mean", Kind::Number),
        optional("nan", Kind::Integer),
        optional("inf", Kind::Integer),
        optional("xxh3", Kind::Text),
        optional("module", Kind::Text),
        optional("class", Kind::Text),
        optional("source", Kind::Text),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        let (tensor, place) = (self.tensor, &self.tensor.place);
        let iterations = opscope_model::LoopIteration::indices(&place.iterations);
        let shape = tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let number = |number: Option<usize>| number.map(|number| number as u64);
        let statistics = self.statistics;
        cells.optional_text(self.model);
        cells.optional_integer(place.run);
        cells.optional_text(place.operator.as_deref());
        cells.optional_text(place.op_type.as_deref());
        cells.optional_integer(number(place.position));
        cells.optional_text(Some(iterations.as_str()).filter(|text| !text.is_empty()));
        cells.optional_text(place.io.map(Io::name));
        cells.optional_integer(number(place.slot));
        cells.optional_text(place.value.as_deref());
        cells.optional_text(tensor.dtype.map(|dtype| dtype.name()));
        cells.text(&shape);
        cells.integer(tensor.bytes);
        cells.optional_number(statistics.and_then(|statistics| statistics.min));
        cells.optional_number(statistics.and_then(|statistics| statistics.max));
        cells.optional_number(statistics.and_then(|statistics| statistics.mean));
        cells.optional_integer(statistics.map(|statistics| statistics.nan));
        cells.optional_integer(statistics.map(|statistics| statistics.inf));
        cells.optional_text(statistics.and_then(|statistics| statistics.xxh3).map(|hash| hash.to_string()).as_deref());
        for (_, text) in place.code.as_ref().map(|code| code.notes()).unwrap_or_default() {
            cells.optional_text(text.as_deref());
        }
    }
}
