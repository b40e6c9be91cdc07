//! Validation of the texts of an account.

use crate::error::ServiceError;

/// Length of a device id, in bytes.
const DEVICE_ID_BYTES: std::ops::RangeInclusive<usize> = 10..=128;
/// Length of a custom id, in bytes.
const CUSTOM_ID_BYTES: std::ops::RangeInclusive<usize> = 6..=128;
/// Length of an email address, in bytes.
const EMAIL_BYTES: std::ops::RangeInclusive<usize> = 10..=255;
/// Length of a password, in bytes. Longer ones would only cost hashing time.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 8..=1_024;
/// Length of a username, in bytes.
const USERNAME_BYTES: std::ops::RangeInclusive<usize> = 1..=128;
/// Maximum bytes of the other texts. They are sent with every mention of a user.
const DISPLAY_NAME_BYTES_MAX: usize = 255;
const AVATAR_URL_BYTES_MAX: usize = 512;
const LANGUAGE_BYTES_MAX: usize = 18;
const LOCATION_BYTES_MAX: usize = 255;
const TIMEZONE_BYTES_MAX: usize = 255;
/// Maximum bytes of metadata, which is also read with every mention of a user.
pub(super) const METADATA_BYTES_MAX: usize = 65_536;

/// Letters of a generated username.
const GENERATED_LETTERS: usize = 10;

/// Changes to an account. `None` keeps a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Username, unique.
    pub username: Option<String>,
    /// Display name.
    pub display_name: Option<String>,
    /// URL of a picture.
    pub avatar_url: Option<String>,
    /// Language tag, such as `en`.
    pub language: Option<String>,
    /// Location, as free text.
    pub location: Option<String>,
    /// Timezone.
    pub timezone: Option<String>,
    /// Metadata of the game: a JSON object. For server code only.
    pub metadata: Option<String>,
}

impl Update {
    /// Validates the changes.
    pub fn check(&self) -> Result<(), ServiceError> {
        if let Some(username) = &self.username {
            check_username(username)?;
        }
        let texts = [
            ("Display name", &self.display_name, DISPLAY_NAME_BYTES_MAX),
            ("Avatar URL", &self.avatar_url, AVATAR_URL_BYTES_MAX),
            ("Language tag", &self.language, LANGUAGE_BYTES_MAX),
            ("Location", &self.location, LOCATION_BYTES_MAX),
            ("Timezone", &self.timezone, TIMEZONE_BYTES_MAX),
        ];
        for (what, text, bytes_max) in texts {
            if let Some(text) = text {
                check_text(what, text, 0..=bytes_max)?;
                check_characters(what, text)?;
            }
        }
        self.metadata.as_deref().map_or(Ok(()), check_metadata)
    }

    /// Returns true if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Update::default()
    }
}

/// Validates a device id.
pub(super) fn check_device_id(id: &str) -> Result<(), ServiceError> {
    check_text("Device ID", id, DEVICE_ID_BYTES)
}

/// Validates a custom id.
pub(super) fn check_custom_id(id: &str) -> Result<(), ServiceError> {
    check_text("Custom ID", id, CUSTOM_ID_BYTES)
}

/// Validates a new username.
pub(super) fn check_username(username: &str) -> Result<(), ServiceError> {
    check_known_username(username)?;
    check_characters("Username", username)
}

/// Validates a username that may exist. Those of earlier versions have other characters.
pub(super) fn check_known_username(username: &str) -> Result<(), ServiceError> {
    check_text("Username", username, USERNAME_BYTES)?;
    if username.trim() != username {
        // It would look like another username.
        return Err(ServiceError::invalid("Username must not begin or end with a space."));
    }
    Ok(())
}

/// Validates a new password.
pub(super) fn check_password(password: &str) -> Result<(), ServiceError> {
    if !PASSWORD_BYTES.contains(&password.len()) {
        let (least, most) = (PASSWORD_BYTES.start(), PASSWORD_BYTES.end());
        return Err(ServiceError::invalid(format!("Password must be {least} to {most} bytes long.")));
    }
    Ok(())
}

/// Validates an email address, and converts it to lower case, as it is stored.
pub(super) fn email(text: &str) -> Result<String, ServiceError> {
    let email = text.to_lowercase();
    check_text("Email address", &email, EMAIL_BYTES)?;
    let well_formed = email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && has_inner_dot(host));
    if !well_formed || email.contains(char::is_whitespace) {
        return Err(ServiceError::invalid("Email address is not of the form name@example.com."));
    }
    Ok(email)
}

/// Returns a random username.
pub(super) fn generated_username() -> String {
    const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::with_capacity(GENERATED_LETTERS);
    while name.len() < GENERATED_LETTERS {
        let mut random = [0; 16];
        getrandom::fill(&mut random).expect("the system provides random numbers");
        // Larger bytes are skipped, because they would favor the first letters.
        let fair = random.iter().filter(|byte| **byte < 208).map(|byte| char::from(LETTERS[usize::from(byte % 52)]));
        name.extend(fair.take(GENERATED_LETTERS - name.len()));
    }
    name
}

/// Converts the display name of a provider to one that an account can hold.
pub(super) fn display_name_of(given: Option<&str>) -> String {
    let given = given.unwrap_or_default();
    let shown = aether_names::cleaned(given);
    let end = shown.floor_char_boundary(DISPLAY_NAME_BYTES_MAX);
    // A part of a joined character may have been cut off.
    aether_names::cleaned(shown[..end].trim())
}

/// Validates the length of a text, and rejects control characters. That includes NUL, which PostgreSQL cannot store.
pub(crate) fn check_text(what: &str, text: &str, bytes: std::ops::RangeInclusive<usize>) -> Result<(), ServiceError> {
    if text.is_empty() && *bytes.start() > 0 {
        return Err(ServiceError::invalid(format!("{what} is required.")));
    }
    if !bytes.contains(&text.len()) {
        return Err(ServiceError::invalid(match bytes.start() {
            0 => format!("{what} must be at most {} bytes long.", bytes.end()),
            least => format!("{what} must be {least} to {} bytes long.", bytes.end()),
        }));
    }
    if text.contains(char::is_control) {
        return Err(ServiceError::invalid(format!("{what} must not contain control characters.")));
    }
    Ok(())
}

/// Rejects characters that others do not see, or that change the text around them.
pub(crate) fn check_characters(what: &str, text: &str) -> Result<(), ServiceError> {
    aether_names::check(text).map_err(|bad| ServiceError::invalid(format!("{what} must not contain {bad}.")))
}

fn check_metadata(metadata: &str) -> Result<(), ServiceError> {
    if metadata.len() > METADATA_BYTES_MAX {
        return Err(ServiceError::invalid(format!("Metadata must be at most {METADATA_BYTES_MAX} bytes long.")));
    }
    let parsed: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(metadata);
    parsed.map(|_| ()).map_err(|_| ServiceError::invalid("Metadata must be a JSON object."))
}

/// Returns true if there is a dot with text on both sides.
fn has_inner_dot(host: &str) -> bool {
    host.char_indices().any(|(at, character)| character == '.' && at > 0 && at + 1 < host.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_address_has_a_name_and_a_host_with_a_dot() {
        assert_eq!(email("Ann@Example.COM").as_deref(), Ok("ann@example.com"));
        for wrong in
            ["ann.example.com", "@example.com", "ann@example", "ann@.comexample", "ann@example.", "a n@example.com"]
        {
            assert!(email(wrong).is_err(), "{wrong}");
        }
        assert!(email("a@b.c").is_err(), "it is too short");
        assert!(email(&format!("{}@example.com", "a".repeat(250))).is_err(), "it is too long");
    }

    #[test]
    fn a_generated_username_is_ten_letters() {
        let names: std::collections::HashSet<String> = (0..100).map(|_| generated_username()).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| name.len() == 10 && name.bytes().all(|byte| byte.is_ascii_alphabetic())));
    }

    #[test]
    fn a_provider_name_is_cut_to_fit() {
        assert_eq!(display_name_of(Some(" Ann\0\n ")), "Ann");
        assert_eq!(display_name_of(None), "");
        let long = display_name_of(Some(&"é".repeat(200)));
        assert!(long.len() <= DISPLAY_NAME_BYTES_MAX && long.len() >= DISPLAY_NAME_BYTES_MAX - 1);
    }
}
