// The rules of the tree as functions of one file's path and text: who may include whom, where third-party
// headers may appear, sizes, doc comments, words that must not be committed. tests/layering_test.cpp applies
// them to the tree and to planted bad text.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zoetrope::layering {

/// Each breach as "PATH:LINE: what is wrong", in order of lines. `path` is relative to the repository root;
/// `exists` tells whether a path below the root is a file.
std::vector<std::string> check_includes(const std::string& path, const std::string& text,
                                        const std::function<bool(const std::string&)>& exists);
/// Header, source and function lengths.
std::vector<std::string> check_sizes(const std::string& path, const std::string& text);
/// Headers only: opening comment, #pragma once; outside tests/ also no using namespace, and doc comments of
/// public functions: above each, or above the group of lines without a blank one that it stands in.
std::vector<std::string> check_header(const std::string& path, const std::string& text);
/// Words and paths that must not be committed, in any text file.
std::vector<std::string> check_words(const std::string& path, const std::string& text);

/// Types that a file defines at namespace scope, with their namespaces ("zoetrope::Tensor"); those of unnamed
/// namespaces are left out. Two of one name in one program are undefined behaviour that no linker reports.
std::vector<std::string> defined_types(const std::string& text);

/// The text with comments, string and character literals blanked out, lines and columns kept.
std::string blank_comments_and_literals(const std::string& text);

/// A function body: first line of its signature, last line of its body.
struct FunctionSpan {
  std::string signature;
  int64_t first_line = 0, last_line = 0;
};
/// Functions at namespace or class scope, lambdas and nested blocks belonging to them.
std::vector<FunctionSpan> find_functions(const std::string& text);

}  // namespace zoetrope::layering
