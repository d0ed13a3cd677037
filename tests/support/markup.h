// Looks at a page as a strict parser would: every tag closed, every attribute quoted, nothing from elsewhere.
#pragma once

#include <string>

namespace zoetrope::testing_support {

/// What is wrong with the page's tags, attributes or entities; empty: nothing. The text of <style> is
/// skipped.
std::string markup_fault(const std::string& html);

/// The first reference to something outside the page; empty: there is none.
std::string foreign_reference(const std::string& html);

}  // namespace zoetrope::testing_support
