//! Rates of presets and of single operations.

use super::{error, load};

#[test]
fn rates_are_set_in_every_layer() {
    let file = "[rate.expensive]\nper_second = 2\nburst = 3\n[rate.get_account]\nper_second = 0\n";
    let environment = [("AETHER_RATE_WRITE_STORAGE_OBJECTS_PER_SECOND", "10")];
    let mut config = load(file, &environment, &[("rate.login.per_second", "1")]).unwrap();
    let mut rate = |name: &str| (config.rate_mut(name).per_second, config.rate_mut(name).burst);
    assert_eq!(rate("expensive"), (Some(2), Some(3)));
    assert_eq!(rate("get_account"), (Some(0), None));
    assert_eq!(rate("write_storage_objects"), (Some(10), None));
    assert_eq!(rate("login"), (Some(1), None));
}

#[test]
fn a_rate_of_an_unknown_operation_is_rejected() {
    assert_eq!(
        error("[rate.write_storage_object]\nper_second = 1\n"),
        "aether.toml, line 2: write_storage_object is neither an operation nor a preset; did you mean \
         [rate.write_storage_objects]? The presets are read, write, message, login, expensive."
    );
    assert_eq!(
        error("[rate.everything]\nper_second = 1\n"),
        "aether.toml, line 2: everything is neither an operation nor a preset. The presets are read, write, message, \
         login, expensive."
    );
    assert!(error("[rate.WriteStorageObjects]\nper_second = 1\n").contains("lowercase letters"));
}

#[test]
fn a_rate_without_a_value_is_rejected() {
    let sentence = "[rate.read] has no rate: set rate.read.per_second.";
    assert_eq!(error("[rate.read]\nburst = 1\n"), format!("aether.toml, line 2: {sentence}"));
    assert_eq!(error("\n[rate.read]\n"), format!("aether.toml, line 2: {sentence}"));
}
