/// Formats a number in six characters, if it fits.
pub fn six(number: f64) -> String {
    let decimals = match number.abs() {
        number if number < 9.99995 => 4,
        number if number < 99.9995 => 3,
        number if number < 999.995 => 2,
        number if number < 9999.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_six_characters_up_to_a_quarter_of_an_hour() {
        for (number, text) in [
            (0.00004, "0.0000"),
            (9.99994, "9.9999"),
            (9.99996, "10.000"),
            (99.9996, "100.00"),
            (143.0348, "143.03"),
            (999.996, "1000.0"),
            (99999.4, "99999"),
            (999999.0, "999999"),
        ] {
            assert_eq!(six(number), text);
        }
    }
}
